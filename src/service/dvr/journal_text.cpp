#include "service/dvr/journal_text.h"

#include <fmt/format.h>

#include <charconv>

namespace service::dvr {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || c == '%')
            out += fmt::format("%{:02X}", byte);
        else
            out += c;
    }
    return out;
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        bool hex = text[i] == '%' && i + 2 < text.size() &&
                   std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3;
        out += hex ? static_cast<char>(value) : text[i];
        if (hex) i += 2;
    }
    return out;
}

std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> fields;
    while (true) {
        size_t tab = line.find('\t');
        fields.push_back(unescaped(line.substr(0, tab)));
        if (tab == line.npos) return fields;
        line.remove_prefix(tab + 1);
    }
}

}  // namespace

std::string journal_line_open(const OpenRecording& r) {
    return fmt::format("+\t{}\t{}\t{}\t{}\t{}\n", escaped(r.stream.vhost), escaped(r.stream.app),
                       escaped(r.stream.name), escaped(r.growing), escaped(r.path));
}

std::string journal_line_done(std::string_view growing) { return fmt::format("-\t{}\n", escaped(growing)); }

std::vector<OpenRecording> read_journal(std::string_view text) {
    std::vector<OpenRecording> open;
    while (true) {
        size_t end = text.find('\n');
        if (end == text.npos) return open;
        std::vector<std::string> fields = fields_of(text.substr(0, end));
        text.remove_prefix(end + 1);
        bool begins = fields[0] == "+" && fields.size() == 6;
        if (!begins && (fields[0] != "-" || fields.size() != 2)) continue;
        const std::string& growing = begins ? fields[4] : fields[1];
        std::erase_if(open, [&](const OpenRecording& r) { return r.growing == growing; });
        if (begins) open.push_back({{fields[1], fields[2], fields[3]}, growing, fields[5]});
    }
}

}  // namespace service::dvr
