#pragma once
// SharedText: a text that many sessions have in common, such as a user agent: kept once, as long as one of them has it.
// A session holds a pointer. Of the loop's thread.

#include <map>
#include <string>
#include <string_view>

#include "base/ref.h"

namespace net {

class SharedText : public base::RefCounted<SharedText> {
  public:
    static constexpr size_t kMaxBytes = 160;

    // Longer texts are cut. Null for an empty text.
    static base::Ref<SharedText> of(std::string_view text);
    // Those that are held by somebody.
    static size_t count() { return all().size(); }

    explicit SharedText(std::string_view text) : text_(text) {}
    ~SharedText() { all().erase(text_); }
    const std::string& text() const { return text_; }

  private:
    // A tree: a client cannot choose colliding texts. Keys point into the values.
    using All = std::map<std::string_view, SharedText*>;
    static All& all();

    const std::string text_;
};

}  // namespace net
