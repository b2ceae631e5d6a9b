#include "service/hls/playlists/stream_list_text.h"

#include <set>

#include "base/record_lines.h"

namespace service::hls {

std::string write_stream_list(const std::vector<live::StreamKey>& streams) {
    std::string text;
    for (const live::StreamKey& key : streams) text += base::record_line({key.vhost, key.app, key.name});
    return text;
}

std::vector<live::StreamKey> read_stream_list(std::string_view text) {
    std::vector<live::StreamKey> streams;
    std::set<std::string_view> seen;
    for (std::string_view line; streams.size() < kMaxListedStreams && base::take_line(text, line);) {
        const std::vector<std::string> fields = base::record_fields(line);
        if (fields.size() == 3 && seen.insert(line).second) streams.push_back({fields[0], fields[1], fields[2]});
    }
    return streams;
}

}  // namespace service::hls
