#include "net/sessions/shared_text.h"

namespace net {

SharedText::All& SharedText::all() {
    static All all;
    return all;
}

base::Ref<SharedText> SharedText::of(std::string_view text) {
    text = text.substr(0, kMaxBytes);
    if (text.empty()) return {};
    if (const auto found = all().find(text); found != all().end()) return base::Ref<SharedText>(found->second);
    auto made = base::make_ref<SharedText>(text);
    all().emplace(made->text(), made.get());
    return made;
}

}  // namespace net
