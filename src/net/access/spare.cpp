#include "net/access/spare.h"

namespace net {

void Spare::leave_list() {
    if (!list_) return;
    (previous_ ? previous_->next_ : list_->first_) = next_;
    (next_ ? next_->previous_ : list_->last_) = previous_;
    --list_->size_;
    list_ = nullptr;
    previous_ = next_ = nullptr;
}

SpareList::~SpareList() {
    while (first_) first_->leave_list();
}

void SpareList::add(Spare& spare, int64_t now_ms) {
    spare.leave_list();
    spare.list_ = this;
    spare.since_ms_ = now_ms;
    spare.previous_ = last_;
    (last_ ? last_->next_ : first_) = &spare;
    last_ = &spare;
    ++size_;
}

bool SpareList::has(int64_t now_ms, int64_t least_ms) const { return first_ && now_ms - first_->since_ms_ >= least_ms; }

bool SpareList::make_room(int64_t now_ms, int64_t least_ms) {
    if (!has(now_ms, least_ms)) return false;
    Spare& spare = *first_;
    spare.leave_list();
    ++ended_total_;
    spare.make_room();
    return true;
}

}  // namespace net
