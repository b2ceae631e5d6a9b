#include "net/sessions/closed_sessions.h"

#include "base/result.h"

namespace net {

void ClosedSessions::add(ClosedSession closed) {
    count(closed.reason);
    if (is_client(closed.type)) ++of_clients_[static_cast<size_t>(closed.reason)];
    ++total_;
    if (base::is_error(closed.reason)) ++errors_;
    for (std::string* text : {&closed.stream, &closed.text, &closed.page}) {
        if (text->size() > kMaxTextBytes) text->resize(kMaxTextBytes);
    }
    if (kept_.size() < kMaxSessions) {
        kept_.push_back(std::move(closed));
        return;
    }
    kept_[next_] = std::move(closed);
    next_ = (next_ + 1) % kMaxSessions;
}

const ClosedSession& ClosedSessions::newest(size_t index) const {
    CHECK(index < kept_.size());
    return kept_[(next_ + kept_.size() - 1 - index) % kept_.size()];
}

}  // namespace net
