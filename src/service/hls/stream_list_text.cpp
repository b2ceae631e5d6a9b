#include "service/hls/stream_list_text.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/text.h"

namespace service::hls {

namespace {

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || c == '%') {
            base::append_format(out, "%{:02X}", byte);
        } else {
            out += c;
        }
    }
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        uint8_t value = 0;
        const char* digits = text.data() + i + 1;
        const bool is_escape =
            text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
        out += is_escape ? static_cast<char>(value) : text[i];
        if (is_escape) i += 2;
    }
    return out;
}

}  // namespace

std::string write_stream_list(const std::vector<live::StreamKey>& streams) {
    std::string text;
    for (const live::StreamKey& key : streams) {
        append_escaped(text, key.vhost);
        text += '\t';
        append_escaped(text, key.app);
        text += '\t';
        append_escaped(text, key.name);
        text += '\n';
    }
    return text;
}

std::vector<live::StreamKey> read_stream_list(std::string_view text) {
    std::vector<live::StreamKey> streams;
    std::set<std::string_view> seen;
    for (size_t end; streams.size() < kMaxListedStreams && (end = text.find('\n')) != text.npos;
         text.remove_prefix(end + 1)) {
        const std::string_view line = text.substr(0, end);
        const size_t app = line.find('\t');
        const size_t name = app == line.npos ? line.npos : line.find('\t', app + 1);
        if (name == line.npos || line.find('\t', name + 1) != line.npos || !seen.insert(line).second) continue;
        streams.push_back({unescaped(line.substr(0, app)), unescaped(line.substr(app + 1, name - app - 1)),
                           unescaped(line.substr(name + 1))});
    }
    return streams;
}

}  // namespace service::hls
