#include "runtime/loop/log_limit.h"

namespace runtime {

std::string LogLimit::take_left_out() {
    const uint64_t count = std::exchange(left_out_, 0);
    return count == 0 ? std::string() : fmt::format(" ({} more like it were left out before)", count);
}

void log_failure(LogCondition& failing, std::string_view what, const base::Error& error) {
    if (failing.found(now_ms())) base::log::error("{}: {}; it is tried again", what, error.describe());
}

void log_recovery(LogCondition& failing, std::string_view what) {
    if (!failing.active()) return;
    if (auto past = failing.ended(now_ms()))
        base::log::warn("{} works again, after {} failures within {} ms", what, past->times, past->ms);
}

}  // namespace runtime
