#include "runtime/loop/read_pacer.h"

#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/reactor.h"

namespace runtime::detail {

void ReadPacer::set_interval(int64_t interval_ms) {
    interval_ms_ = interval_ms;
    const int64_t due = is_set() ? due_ms() : INT64_MAX;
    set_after(interval_ms);
    if (due < due_ms()) set(due);
}

void ReadPacer::hurry() {
    skips_ = false;
    set(event_ms() + 1);
}

void ReadPacer::on_due() {
    if (!std::exchange(skips_, false)) watch_.poll();
    set_after(interval_ms_);
}

}  // namespace runtime::detail
