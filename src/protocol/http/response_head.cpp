#include "protocol/http/response_head.h"

#include <fmt/format.h>
#include <http_parser.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/ascii.h"

namespace http {

std::string_view reason_phrase(int status) {
    switch (status) {
#define SRS_STATUS(number, name, text) \
    case number:                       \
        return #text;
        HTTP_STATUS_MAP(SRS_STATUS)
#undef SRS_STATUS
    }
    return "Status";
}

namespace {

// Eight characters at a time: each field of each response is looked at.
bool has_control(std::string_view text) {
    constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x80 * kOnes;
    uint64_t found = 0, eight = 0;
    for (; text.size() >= sizeof eight; text.remove_prefix(sizeof eight)) {
        std::memcpy(&eight, text.data(), sizeof eight);
        const uint64_t beside_delete = eight ^ (0x7f * kOnes);
        found |= ((eight - 0x20 * kOnes) & ~eight) | ((beside_delete - kOnes) & ~beside_delete);
    }
    return (found & kHighs) != 0 || std::ranges::any_of(text, base::is_control);
}

}  // namespace

HeadWriter::HeadWriter(int status) {
    text_.reserve(640);
    text_.append("HTTP/1.1 ").append(fmt::format_int(status).c_str()).append(" ").append(reason_phrase(status));
    text_.append("\r\n");
}

HeadWriter& HeadWriter::field(std::string_view name, std::string_view value) {
    text_.append(name).append(": ");
    const size_t start = text_.size();
    text_.append(value).append("\r\n");
    if (has_control(value))
        std::replace_if(text_.begin() + static_cast<ptrdiff_t>(start), text_.end() - 2, base::is_control, ' ');
    return *this;
}

HeadWriter& HeadWriter::field(std::string_view name, uint64_t value) {
    const fmt::format_int text(value);
    return field(name, std::string_view(text.data(), text.size()));
}

HeadWriter& HeadWriter::lines(std::string_view text) {
    text_.append(text);
    return *this;
}

std::string HeadWriter::finish() {
    text_.append("\r\n");
    return std::move(text_);
}

std::string chunk_prefix(size_t n) { return fmt::format("{:x}\r\n", n); }

}  // namespace http
