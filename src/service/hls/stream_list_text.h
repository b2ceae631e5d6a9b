#pragma once
// The text of the roll (stream_list.h): a line for each stream, its vhost, app and name with a tab between them. '%',
// tabs and control characters stand as %XX. Lines that are not whole are passed over. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"

namespace service::hls {

inline constexpr size_t kMaxListedStreams = 10'000;

// At most kMaxListedStreams, and each once.
std::vector<live::StreamKey> read_stream_list(std::string_view text);
std::string write_stream_list(const std::vector<live::StreamKey>& streams);

}  // namespace service::hls
