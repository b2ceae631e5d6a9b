#include "protocol/amf/decoder.h"

#include <fmt/format.h>

namespace amf {

using base::Code;
using base::fail;
using base::Result;

Result<void> Budget::enter() {
    if (--depth_ < 0) return fail(Code::kLimit, "AMF: objects are nested too deep");
    return {};
}

Result<void> Budget::spend_value() {
    if (values_ == 0) return fail(Code::kLimit, "AMF: too many values in one message");
    --values_;
    return {};
}

Result<void> Budget::spend_text(size_t bytes) {
    if (bytes > text_) return fail(Code::kLimit, "AMF: too much text in one message");
    text_ -= static_cast<uint32_t>(bytes);
    return {};
}

std::unexpected<base::Error> truncated(std::string_view format, std::string_view what) {
    return fail(Code::kProtocol, fmt::format("{}: {} runs past the end of the message", format, what));
}

Result<std::string> take_text(base::ByteReader& reader, Budget& budget, std::string_view format, size_t bytes) {
    if (!reader.ok() || reader.left() < bytes) return truncated(format, "a string");
    TRY(budget.spend_text(bytes));
    return std::string(reader.text(bytes));
}

}  // namespace amf
