#include "service/api/json_text.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "service/api/envelope.h"

namespace service::api {

namespace {
bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }
}  // namespace

void JsonText::separate() {
    if (const char last = out_.empty() ? '[' : out_.back(); last != '{' && last != '[') out_ += ',';
}

void JsonText::begin(std::string_view name) {
    separate();
    out_.append("\"").append(name).append("\":");
}

void JsonText::open() {
    separate();
    out_ += '{';
}

void JsonText::open(std::string_view name) {
    begin(name);
    out_ += '{';
}

void JsonText::open_list(std::string_view name) {
    begin(name);
    out_ += '[';
}

void JsonText::field(std::string_view name, std::string_view value) {
    begin(name);
    if (std::ranges::all_of(value, is_plain)) {
        out_.append("\"").append(value).append("\"");
    } else {
        out_ += base::to_text(Json(value));
    }
}

void JsonText::field(std::string_view name, double value) {
    if (!std::isfinite(value)) return null(name);
    begin(name);
    base::append_format(out_, "{}", value);
}

}  // namespace service::api
