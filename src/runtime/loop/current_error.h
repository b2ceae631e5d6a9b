#pragma once
// CurrentError: why something that is tried again and again does not work now. It is logged when its text changes, not
// at each attempt.

#include <string>
#include <string_view>
#include <utility>

namespace runtime {

class CurrentError {
  public:
    // True: it is another one than before, to be logged.
    bool update(std::string_view text) {
        if (text == text_) return false;
        text_ = text;
        return true;
    }
    // It works. True: it did not before.
    bool clear() { return !std::exchange(text_, {}).empty(); }
    bool empty() const { return text_.empty(); }
    const std::string& text() const { return text_; }  // empty: it works, or was not tried yet

  private:
    std::string text_;
};

}  // namespace runtime
