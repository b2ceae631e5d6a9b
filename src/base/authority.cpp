#include "base/authority.h"

#include <charconv>

namespace base {

Result<Authority> split_authority(std::string_view text) {
    Authority out;
    if (const size_t at = text.rfind('@'); at != text.npos) {
        out.user = text.substr(0, at);
        text.remove_prefix(at + 1);
    }
    size_t end = text.find(':');
    if (text.starts_with('[')) {
        const size_t close = text.find(']');
        if (close == text.npos) return fail(Code::kProtocol, "the host has a '[' without a ']'");
        out.host = text.substr(1, close - 1);
        end = close + 1;
        if (end < text.size() && text[end] != ':') return fail(Code::kProtocol, "characters after the host's ']'");
    } else {
        out.host = text.substr(0, end);
    }
    if (end >= text.size()) return out;
    const std::string_view port = text.substr(end + 1);
    if (port.empty()) return out;
    uint16_t number = 0;
    const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
    if (read.ec != std::errc() || read.ptr != port.data() + port.size())
        return fail(Code::kProtocol, "the port is no number up to 65535");
    out.port = number;
    return out;
}

}  // namespace base
