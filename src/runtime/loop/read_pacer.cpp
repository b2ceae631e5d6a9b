#include "runtime/loop/read_pacer.h"

#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/reactor.h"

namespace runtime::detail {

int64_t ReadPacer::next_ms() const {
    const int64_t grid_ms = TickWheel::grid_ms(interval_ms_);
    return (event_ms() + interval_ms_) / grid_ms * grid_ms;
}

void ReadPacer::set_interval(int64_t interval_ms) {
    interval_ms_ = interval_ms;
    if (const int64_t next = next_ms(); !is_set() || next < due_ms()) set(next);
}

void ReadPacer::hurry() {
    skips_ = false;
    set(event_ms() + 1);
}

void ReadPacer::on_due() {
    if (!std::exchange(skips_, false)) watch_.poll();
    set(next_ms());
}

}  // namespace runtime::detail
