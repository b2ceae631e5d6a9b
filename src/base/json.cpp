#include "base/json.h"

namespace base {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

// dump() would throw without this error handler.
std::string to_text(const OrderedJson& json) {
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace base
