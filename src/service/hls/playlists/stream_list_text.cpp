#include "service/hls/playlists/stream_list_text.h"

#include <charconv>
#include <set>

#include "base/record_lines.h"

namespace service::hls {

namespace {

std::optional<uint64_t> number_of(const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string write_stream_list(const std::vector<ListedStream>& streams) {
    std::string text;
    for (const auto& [key, next_sequence] : streams)
        text += next_sequence ? base::record_line({key.vhost, key.app, key.name, std::to_string(*next_sequence)})
                              : base::record_line({key.vhost, key.app, key.name});
    return text;
}

std::vector<ListedStream> read_stream_list(std::string_view text) {
    std::vector<ListedStream> streams;
    std::set<std::string_view> seen;
    for (std::string_view line; streams.size() < kMaxListedStreams && base::take_line(text, line);) {
        const std::vector<std::string> fields = base::record_fields(line);
        if (fields.size() != 3 && fields.size() != 4) continue;
        const auto next_sequence = fields.size() == 4 ? number_of(fields[3]) : std::nullopt;
        if (fields.size() == 4 && !next_sequence) continue;
        if (seen.insert(line).second) streams.push_back({{fields[0], fields[1], fields[2]}, next_sequence});
    }
    return streams;
}

}  // namespace service::hls
