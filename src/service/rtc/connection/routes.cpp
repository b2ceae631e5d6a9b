#include "service/rtc/connection/routes.h"

#include <algorithm>

#include "service/rtc/connection/session.h"

namespace service::rtc {

void Routes::Claims::put_first(size_t i) {
    std::rotate(of_.begin(), of_.begin() + static_cast<ptrdiff_t>(i), of_.begin() + static_cast<ptrdiff_t>(i) + 1);
}

void Routes::claim(const base::Endpoint& from, const Wire& wire, RtcSession& session, int64_t since_ms,
                   int64_t now_ms) {
    Claims& claims = by_address_[{from, &wire}];
    const auto end = [&] { return claims.of_.begin() + claims.count_; };
    auto own = std::find_if(claims.of_.begin(), end(), [&](const auto& one) { return one.session == &session; });
    if (own == end()) {
        if (claims.count_ == kMaxClaims) {
            // An earlier claim replaces the latest of those that fill the table.
            own = std::max_element(claims.of_.begin(), end(),
                                   [](const auto& a, const auto& b) { return a.since_ms < b.since_ms; });
            if (own->since_ms <= since_ms) return;
            forget_host(from, *own->session);
        } else {
            ++claims.count_;
        }
        *own = {&session, since_ms};
        by_host_.emplace(host_of(from.ip), &session);
    }
    const Claims::Claim& first = claims.of_[0];
    if (first.session == &session) return;
    if (since_ms < first.since_ms || !first.session->heard_lately(from, now_ms))
        claims.put_first(static_cast<size_t>(own - claims.of_.begin()));
}

void Routes::forget_host(const base::Endpoint& from, RtcSession& session) {
    if (auto found = by_host_.find({host_of(from.ip), &session}); found != by_host_.end()) by_host_.erase(found);
}

void Routes::remove(const base::Endpoint& from, const Wire& wire, const RtcSession& session) {
    auto found = by_address_.find({from, &wire});
    if (found == by_address_.end()) return;
    Claims& claims = found->second;
    for (size_t i = 0; i < claims.count_; ++i) {
        if (claims.of_[i].session != &session) continue;
        forget_host(from, *claims.of_[i].session);
        std::rotate(claims.of_.begin() + static_cast<ptrdiff_t>(i), claims.of_.begin() + static_cast<ptrdiff_t>(i) + 1,
                    claims.of_.begin() + claims.count_);
        claims.of_[--claims.count_] = {};
        break;
    }
    if (claims.count_ == 0) by_address_.erase(found);
}

}  // namespace service::rtc
