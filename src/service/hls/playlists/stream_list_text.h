#pragma once
// The text of a small file that lists the streams with HLS files on disk, so that the next run knows what this one left
// and can dispose of it in time: a line for each stream, with vhost, app and name separated by tabs. '%', tabs and
// control characters are escaped as %XX. Incomplete lines are skipped. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"

namespace service::hls {

inline constexpr size_t kMaxListedStreams = 10'000;

// At most kMaxListedStreams, without duplicates.
std::vector<live::StreamKey> read_stream_list(std::string_view text);
std::string write_stream_list(const std::vector<live::StreamKey>& streams);

}  // namespace service::hls
