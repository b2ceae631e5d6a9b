#pragma once
// CurrentError: why something that is tried again and again does not work now. It is logged when its text changes, not
// at each attempt. A peer that changes its words each time, or works and fails by turns, causes a few lines, and then
// one a minute.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/log_limit.h"

namespace runtime {

class CurrentError {
  public:
    static constexpr int64_t kBurst = 5, kIntervalMs = 60'000;  // of lines

    // True: it is another one than was logged last, to be logged now.
    bool update(std::string_view text) {
        text_ = text;
        if (text_ == logged_ || !limit_.admits(now_ms())) return false;
        logged_ = text_;
        return true;
    }
    // It works. True: it did not before.
    bool clear() {
        logged_.clear();
        return !std::exchange(text_, {}).empty();
    }
    bool empty() const { return text_.empty(); }
    const std::string& text() const { return text_; }  // empty: it works, or was not tried yet

  private:
    std::string text_, logged_;
    LogLimit limit_{kBurst, kIntervalMs};
};

}  // namespace runtime
