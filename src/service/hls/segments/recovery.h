#pragma once
// Recovery: what an earlier run has left of a stream on disk: its playlists, the multivariant one, and which of the
// files exist that they name. It is read before the first segment of this run, whose numbers follow.

#include <cstdint>
#include <optional>
#include <vector>

#include "service/hls/segments/left_stream.h"
#include "service/hls/segments/segment_files.h"

namespace service::hls {

// Yields. Removes what cannot be continued: segments that were not complete, and all of it unless options.recover.
// paths: of the main rendition. Nothing: the coroutine was cancelled.
std::optional<LeftStream> read_left(const SegmentFilesOptions& options, const SegmentPaths& paths);
// Yields. Removes all of it. paths: of playlists in one directory. Returns the number behind the last segment.
std::optional<uint64_t> remove_left(const SegmentFilesOptions& options, std::vector<SegmentPaths> paths);

}  // namespace service::hls
