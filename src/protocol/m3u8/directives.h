#pragma once
// Delivery directives (draft-pantos-hls-rfc8216bis, 6.2.5): what the query of a request for a media playlist asks for,
// and whether the playlist can be sent at once, once it has a certain part, or not at all. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/http/url.h"

namespace m3u8 {

// A part by the media sequence number of its segment and its index there.
struct PartPosition {
    uint64_t msn = 0;
    uint64_t part = 0;
    friend auto operator<=>(const PartPosition&, const PartPosition&) = default;
};

struct Directives {
    std::optional<PartPosition> awaited{};  // _HLS_msn and _HLS_part; without the latter the segment's first part
    bool skip = false;                      // _HLS_skip: a delta update
};

// kProtocol: it is malformed, and the answer is 400. Unknown directives are ignored.
base::Result<Directives> parse_directives(const http::Parameters& parameters);

// A query, as sent, without directives, unknown ones too.
std::string without_directives(std::string_view query);

// How far a low-latency playlist has come.
struct PlaylistEnd {
    PartPosition next{};             // the first part that it does not have yet, as if no segment ended before it
    uint64_t parts_before = 0;       // of segment next.msn - 1, which is complete; 0: they are not known
    uint64_t max_segment_parts = 0;  // a request of a further part is refused (max_parts())
    bool ended = false;

    // A part behind a segment's last one is the first one of the next segment (6.2.5.2).
    bool has(const PartPosition& part) const;
};

// The most parts that a segment of the target duration may have, and as many as a client may be ahead: by the advance
// part limit of 6.2.5.2. Less is too little for hls.js, which asks for the last part of the open segment or of the next
// one.
uint64_t max_parts(int64_t target_us, int64_t part_target_us);

enum class Reload : uint8_t { kAnswer, kWait, kRefuse };
// kRefuse: 400, for what lies too far ahead (6.2.5.2).
Reload decide(const PartPosition& awaited, const PlaylistEnd& playlist);

}  // namespace m3u8
