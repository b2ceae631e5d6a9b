#include "service/dvr/journal_text.h"

#include "base/record_lines.h"

namespace service::dvr {

std::string journal_line_open(const OpenRecording& r) {
    return base::record_line({"+", r.stream.vhost, r.stream.app, r.stream.name, r.growing, r.path});
}

std::string journal_line_done(std::string_view growing) { return base::record_line({"-", growing}); }

std::vector<OpenRecording> read_journal(std::string_view text) {
    std::vector<OpenRecording> open;
    for (std::string_view line; base::take_line(text, line);) {
        const std::vector<std::string> fields = base::record_fields(line);
        bool begins = fields[0] == "+" && fields.size() == 6;
        if (!begins && (fields[0] != "-" || fields.size() != 2)) continue;
        const std::string& growing = begins ? fields[4] : fields[1];
        std::erase_if(open, [&](const OpenRecording& r) { return r.growing == growing; });
        if (begins) open.push_back({{fields[1], fields[2], fields[3]}, growing, fields[5]});
    }
    return open;
}

}  // namespace service::dvr
