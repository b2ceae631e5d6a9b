#include "base/record_lines.h"

#include <charconv>

#include "base/text.h"

namespace base {

namespace {

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || c == '%') {
            append_format(out, "%{:02X}", byte);
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

std::string record_line(std::initializer_list<std::string_view> fields) {
    std::string line;
    for (const std::string_view field : fields) {
        append_escaped(line, field);
        line += '\t';
    }
    line.back() = '\n';
    return line;
}

std::vector<std::string> record_fields(std::string_view line) {
    std::vector<std::string> fields;
    while (true) {
        const size_t tab = line.find('\t');
        fields.push_back(unescaped(line.substr(0, tab)));
        if (tab == line.npos) return fields;
        line.remove_prefix(tab + 1);
    }
}

bool take_line(std::string_view& text, std::string_view& line) {
    const size_t end = text.find('\n');
    if (end == text.npos) return false;
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
}

}  // namespace base
