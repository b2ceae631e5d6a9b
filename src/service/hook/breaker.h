#pragma once
// Breaker: whether a server is taken for down, by the calls to it that failed in a row. Its user then makes one call at
// a time. Pure: times are handed in.

#include <cstdint>
#include <string>
#include <utility>

namespace service::hook {

class Breaker {
  public:
    static constexpr uint32_t kOpensAfter = 3;  // failures in a row: one lost call is no outage

    bool is_open() const { return failures_ >= kOpensAfter; }
    // Since when it has been as it is, ms of the loop's clock; while it is open, since the first of the failures. 0:
    // since the first call.
    int64_t since_ms() const { return is_open() ? failing_since_ms_ : up_since_ms_; }
    uint64_t opened() const { return opened_; }
    const std::string& last_error() const { return last_error_; }

    // True: it was open.
    bool succeeded(int64_t now_ms) {
        const bool was_open = is_open();
        if (was_open) up_since_ms_ = now_ms;
        failures_ = 0;
        return was_open;
    }
    // True: it opens now.
    bool failed(int64_t now_ms, std::string error) {
        if (failures_ == 0) failing_since_ms_ = now_ms;
        last_error_ = std::move(error);
        if (is_open()) return false;
        ++failures_;
        opened_ += is_open();
        return is_open();
    }

  private:
    uint32_t failures_ = 0;  // in a row
    int64_t failing_since_ms_ = 0;
    int64_t up_since_ms_ = 0;
    uint64_t opened_ = 0;
    std::string last_error_;
};

}  // namespace service::hook
