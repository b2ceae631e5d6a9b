#include "net/admission/eviction.h"

namespace net {

void EvictionCandidate::leave_list() {
    if (!list_) return;
    (previous_ ? previous_->next_ : list_->first_) = next_;
    (next_ ? next_->previous_ : list_->last_) = previous_;
    --list_->size_;
    list_ = nullptr;
    previous_ = next_ = nullptr;
}

EvictionList::~EvictionList() {
    while (first_) first_->leave_list();
}

void EvictionList::add(EvictionCandidate& candidate, int64_t now_ms) {
    candidate.leave_list();
    candidate.list_ = this;
    candidate.since_ms_ = now_ms;
    candidate.previous_ = last_;
    (last_ ? last_->next_ : first_) = &candidate;
    last_ = &candidate;
    ++size_;
}

bool EvictionList::has(int64_t now_ms, int64_t least_ms) const {
    return first_ && now_ms - first_->since_ms_ >= least_ms;
}

bool EvictionList::evict_one(int64_t now_ms, int64_t least_ms) {
    if (!has(now_ms, least_ms)) return false;
    EvictionCandidate& candidate = *first_;
    candidate.leave_list();
    ++ended_total_;
    candidate.evict();
    return true;
}

}  // namespace net
