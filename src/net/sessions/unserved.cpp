#include "net/sessions/unserved.h"

#include <fmt/core.h>

#include <algorithm>

#include "net/admission/address_limiter.h"
#include "net/sessions/session.h"

namespace net {

using base::IpAddress;

bool UnservedSessions::is_exempt(const IpAddress& ip) const {
    return std::ranges::any_of(limits_.exempt, [&](const base::IpNetwork& network) { return network.contains(ip); });
}

void UnservedSessions::erase(Entries::iterator at) {
    by_session_.erase(at->session);
    if (auto of = of_.find(at->key); --of->second == 0) of_.erase(of);
    entries_.erase(at);
}

void UnservedSessions::remove(Session& session) {
    if (auto found = by_session_.find(&session); found != by_session_.end()) erase(found->second);
}

void UnservedSessions::end(Entries::iterator at, std::string_view why) {
    Session& session = *at->session;
    erase(at);
    ++ended_total_;
    session.give_way(why);
}

UnservedSessions::Entries::iterator UnservedSessions::longest_of(const IpAddress& key) {
    return std::ranges::find(entries_, key, &Entry::key);
}

IpAddress UnservedSessions::address_with_most() const {
    return std::ranges::max_element(of_, {}, [](const auto& one) { return one.second; })->first;
}

void UnservedSessions::add(Session& session, const IpAddress& ip, int64_t now_ms) {
    if (by_session_.contains(&session)) return;
    const IpAddress key = AddressLimiter::key_of(ip);
    by_session_[&session] = entries_.insert(entries_.end(), {&session, key, now_ms});
    const size_t of_address = ++of_[key];
    if (limits_.of_address > 0 && of_address > limits_.of_address && !is_exempt(ip)) {
        drop_served();
        if (of_[key] > limits_.of_address)
            end(longest_of(key),
                fmt::format("{} players of this address get nothing (address_limits.waiting_players)", of_address));
    }
    if (limits_.in_all == 0 || size() <= limits_.in_all) return;
    drop_served();
    if (size() > limits_.in_all)
        end(longest_of(address_with_most()), fmt::format("{} players get nothing (max_waiting_players)", size()));
}

bool UnservedSessions::has(int64_t now_ms, int64_t least_ms) const {
    return !entries_.empty() && now_ms - entries_.front().since_ms >= least_ms;
}

bool UnservedSessions::evict_one(int64_t now_ms, int64_t least_ms) {
    if (!has(now_ms, least_ms)) return false;
    drop_served();
    if (!has(now_ms, least_ms)) return false;
    auto longest = longest_of(address_with_most());
    if (now_ms - longest->since_ms < least_ms) longest = entries_.begin();
    end(longest, "the server is full: a player that gets nothing made room for another connection");
    return true;
}

void UnservedSessions::drop_served() {
    for (auto it = entries_.begin(); it != entries_.end();)
        if (const auto at = it++; !at->session->is_unserved()) erase(at);
}

void UnservedSessions::check(int64_t now_ms) {
    drop_served();
    while (limits_.time_ms > 0 && has(now_ms, limits_.time_ms))
        end(entries_.begin(), fmt::format("the player got nothing for {} ms (waiting_timeout)", limits_.time_ms));
}

}  // namespace net
