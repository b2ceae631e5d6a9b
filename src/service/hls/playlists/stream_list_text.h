#pragma once
// The text of a small file that lists the streams with HLS files on disk, so that the next run knows what this one left
// and can dispose of it in time: a line for each stream, with vhost, app and name separated by tabs. '%', tabs and
// control characters are escaped as %XX. Incomplete lines are skipped. What another process of the server goes on with
// has a fourth field where it has no files. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"

namespace service::hls {

inline constexpr size_t kMaxListedStreams = 10'000;

struct ListedStream {
    live::StreamKey key{};
    // Of segments in memory, which are gone: the number of the next one. Nothing: it has files.
    std::optional<uint64_t> next_sequence{};
    friend bool operator==(const ListedStream&, const ListedStream&) = default;
};

// At most kMaxListedStreams, without duplicates.
std::vector<ListedStream> read_stream_list(std::string_view text);
std::string write_stream_list(const std::vector<ListedStream>& streams);

}  // namespace service::hls
