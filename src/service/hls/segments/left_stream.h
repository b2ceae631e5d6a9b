#pragma once
// LeftStream: the segments of a stream that this process goes on with: those that an earlier run has left on disk
// (recovery.h), or all that another process of the server leaves in an upgrade (handover/), with what it had in memory.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/segments/segment_muxer.h"
#include "net/http/resources.h"
#include "protocol/mpd/mpd.h"
#include "service/hls/segments/segment_list.h"

namespace service::hls {

// Bytes in memory: ranges of LeftStream::blobs[blob].
struct LeftBytes {
    uint32_t blob = 0;
    std::vector<net::PageRange> ranges{};
};

struct LeftPart {
    uint64_t number = 0;
    LeftBytes bytes{};
};

struct LeftRendition {
    RenditionId id = kMainRendition;  // of DASH: none
    uint64_t media_sequence = 0;      // of the first entry
    // Of those that the main rendition has left too; without the first ones that are lost.
    std::deque<Entry> entries{};
    std::vector<std::string> unneeded{};  // files of others
    // Of another process: the entries that are in memory alone, by their index; and the parts, by number.
    std::vector<std::pair<uint32_t, LeftBytes>> in_memory{};
    std::vector<LeftPart> parts{};
    uint64_t listed_from = 0;  // the playlist's first number is that one at least
    bool ended = false;
};

// A track of DASH.
struct LeftTrack {
    struct Row {
        uint64_t sequence = 0;
        convert::LaneTimes times{};
        uint32_t description = 0;  // index
    };
    uint8_t number = 0;
    bool is_active = false;  // its next segment is waited for
    LeftRendition rendition{};
    std::vector<mpd::Track> descriptions{};  // with one Representation, which has no segments
    std::vector<Row> rows{};
};

struct LeftDash {
    uint64_t begin = 0;  // the number of the first segment that may be listed
    std::vector<LeftTrack> tracks{};
};

struct LeftStream {
    bool any = false;         // there was a playlist
    LeftTimeline timeline{};  // of the main rendition
    bool master = false;      // there is a multivariant playlist
    std::vector<LeftRendition> renditions{};
    uint64_t next_sequence = 0;  // the least of this run
    // Of another process.
    std::optional<LeftDash> dash{};
    std::vector<std::shared_ptr<runtime::disk::PagedBytes>> blobs{};
};

}  // namespace service::hls
