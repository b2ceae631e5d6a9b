#include "protocol/http/response_head.h"

#include <fmt/core.h>
#include <http_parser.h>

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

HeadWriter::HeadWriter(int status) {
    text_.reserve(384);
    text_ = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
}

HeadWriter& HeadWriter::field(std::string_view name, std::string_view value) {
    text_.append(name).append(": ");
    for (char c : value) text_.push_back(static_cast<uint8_t>(c) < 0x20 || c == 0x7f ? ' ' : c);
    text_.append("\r\n");
    return *this;
}

HeadWriter& HeadWriter::field(std::string_view name, uint64_t value) { return field(name, fmt::format("{}", value)); }

std::string HeadWriter::finish() {
    text_.append("\r\n");
    return std::move(text_);
}

std::string chunk_prefix(size_t n) { return fmt::format("{:x}\r\n", n); }

}  // namespace http
