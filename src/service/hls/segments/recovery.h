#pragma once
// Recovery: what an earlier run has left of a stream on disk: its playlists, the multivariant one, and which of the
// files exist that they name. It is read before the first segment of this run, whose numbers follow.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "service/hls/segments/segment_files.h"

namespace service::hls {

struct LeftRendition {
    RenditionId id = kMainRendition;
    uint64_t media_sequence = 0;  // of the first entry
    // Of those that the main rendition has left too; without the first ones that are lost.
    std::deque<Entry> entries{};
    std::vector<std::string> unneeded{};  // files of others
};

struct LeftStream {
    bool any = false;         // there was a playlist
    LeftTimeline timeline{};  // of the main rendition
    bool master = false;      // there is a multivariant playlist
    std::vector<LeftRendition> renditions{};
    uint64_t next_sequence = 0;  // the least of this run
    // The last segment is what another process had of it: who begins at that time replaces it.
    std::optional<m3u8::Unfinished> unfinished{};

    // It is replaced: the segments before it go on. reuses_names: the next one has the file's name.
    void drop_unfinished(bool reuses_names);
};

// Yields. Removes what cannot be continued: segments that were not complete, and all of it unless options.recover.
// paths: of the main rendition. Nothing: the coroutine was cancelled.
std::optional<LeftStream> read_left(const SegmentFilesOptions& options, const SegmentPaths& paths);
// Yields. Removes all of it. paths: of playlists in one directory. Returns the number behind the last segment.
std::optional<uint64_t> remove_left(const SegmentFilesOptions& options, std::vector<SegmentPaths> paths);

}  // namespace service::hls
