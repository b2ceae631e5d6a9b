#pragma once
// Rate limits for log lines whose frequency others control: a client that is refused repeatedly, a condition that a
// loop finds in each pass. LogLimit writes a burst, then one line a second; the next line reports how many were left
// out. LogCondition reports when a condition begins and when it is over. Not thread-safe.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"

namespace runtime {

class LogLimit {
  public:
    static constexpr int64_t kBurst = 20;
    static constexpr int64_t kIntervalMs = 1'000;  // for each line beyond the burst

    explicit LogLimit(int64_t burst = kBurst, int64_t interval_ms = kIntervalMs)
        : interval_ms_(interval_ms), room_ms_(burst * interval_ms) {}

    // Whether a line may be written now; otherwise it is counted as left out.
    bool admits(int64_t now_ms) {
        // Each line adds a debt of interval_ms_, which elapsing time pays off.
        owed_until_ms_ = std::max(owed_until_ms_, now_ms);
        if (owed_until_ms_ + interval_ms_ > now_ms + room_ms_) {
            ++left_out_;
            return false;
        }
        owed_until_ms_ += interval_ms_;
        return true;
    }
    uint64_t left_out() const { return left_out_; }
    // A suffix for the admitted line; empty: none was left out since the previous line.
    std::string take_left_out();

  private:
    int64_t interval_ms_;
    int64_t room_ms_;
    int64_t owed_until_ms_ = 0;
    uint64_t left_out_ = 0;
};

class LogCondition {
  public:
    // The condition is over when it was not found for this long: short interruptions are one condition.
    static constexpr int64_t kCalmMs = 1'000;

    struct Past {
        uint64_t times;
        int64_t ms;
    };
    // The condition was found. True: it begins.
    bool found(int64_t now_ms) {
        if (times_ == 0) began_ms_ = now_ms;
        last_ms_ = now_ms;
        return times_++ == 0;
    }
    // The condition is not present now. Returns its summary once it is over.
    std::optional<Past> ended(int64_t now_ms) {
        if (times_ == 0 || now_ms - last_ms_ < kCalmMs) return std::nullopt;
        return Past{std::exchange(times_, 0), last_ms_ - began_ms_};
    }
    bool active() const { return times_ > 0; }

  private:
    uint64_t times_ = 0;
    int64_t began_ms_ = 0;
    int64_t last_ms_ = 0;
};

template <class... Args>
void warn_some(LogLimit& limit, fmt::format_string<Args...> format, Args&&... args) {
    if (base::log::enabled(base::log::Level::kWarn) && limit.admits(now_ms()))
        base::log::write(base::log::Level::kWarn,
                         fmt::format(format, std::forward<Args>(args)...) + limit.take_left_out());
}
template <class... Args>
void error_some(LogLimit& limit, fmt::format_string<Args...> format, Args&&... args) {
    if (base::log::enabled(base::log::Level::kError) && limit.admits(now_ms()))
        base::log::write(base::log::Level::kError,
                         fmt::format(format, std::forward<Args>(args)...) + limit.take_left_out());
}

// For an operation that is retried in a loop: logs an error when it begins to fail, and a line when it works again.
void log_failure(LogCondition& failing, std::string_view what, const base::Error& error);
void log_recovery(LogCondition& failing, std::string_view what);

}  // namespace runtime
