#pragma once
// The manifest of a live DASH presentation (ISO/IEC 23009-1): text from data. Each Period has tracks, each of one or
// several Representations, whose segments are numbered and listed in a SegmentTimeline, in ticks of the Representation.
// Element order is that of the schema. Not supported: content protection, events. Pure: no clock.
//
// Texts of clients (names, labels, languages) may have any bytes: what XML cannot have becomes '?'.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpd {

struct Segment {
    int64_t time = 0;      // the presentation time of its first frame
    int64_t duration = 0;  // both in ticks
    friend bool operator==(const Segment&, const Segment&) = default;
};

struct Representation {
    std::string id{};        // in its Period no other one has it; what $RepresentationID$ stands for
    std::string codecs{};    // RFC 6381; empty: not known
    uint64_t bandwidth = 1;  // bit/s
    int width = 0;           // pixels; 0: not known
    int height = 0;
    double frame_rate = 0;  // per second; 0: not known
    int sample_rate = 0;    // Hz; 0: not known
    int channels = 0;       // 0: not known

    uint32_t timescale = 1;           // ticks per second
    int64_t offset = 0;               // @presentationTimeOffset: the time at which the Period starts
    std::string initialization{};     // URLs, relative to the manifest
    std::string media{};              // "cam/video-$Number$.m4s"
    uint64_t start_number = 0;        // of the first segment
    std::vector<Segment> segments{};  // at least one
};

// An AdaptationSet.
struct Track {
    bool video = false;                             // or audio
    bool main = true;                               // its Role, or it is an alternate
    std::string language{};                         // RFC 5646; empty: not known
    std::string label{};                            // for people; empty: none
    std::vector<Representation> representations{};  // at least one; players change between them at each segment
};

struct Period {
    std::string id{};
    int64_t start_us = 0;  // since availabilityStartTime
    std::vector<Track> tracks{};
};

// What a client may fetch before it is complete.
struct LowLatency {
    int64_t segment_us = 0;  // the length of a segment,
    int64_t part_us = 0;     // and of what comes at once of it
    int64_t target_ms = 0;   // the distance to the live edge that a player is to keep
};

// All times are of one clock, ms since 1970, which is availabilityStartTime.
struct Manifest {
    int64_t publish_ms = 0;
    int64_t update_ms = 0;  // @minimumUpdatePeriod; 0: the presentation has ended
    int64_t end_ms = 0;     // then: when
    int64_t depth_ms = 0;   // @timeShiftBufferDepth
    int64_t delay_ms = 0;   // @suggestedPresentationDelay
    int64_t buffer_ms = 0;  // @minBufferTime
    std::optional<LowLatency> low_latency{};
    std::string time_url{};  // whose answer is http::format_timestamp()
    std::vector<Period> periods{};
};

// A manifest as it is sent.
struct Text {
    std::string text{};
    size_t head_end = 0;             // where a Location stands
    std::vector<size_t> url_ends{};  // of the URLs of segments and initialisation segments

    // For one viewer: with a place from which it fetches the next ones, and a query behind the URLs of segments
    // ("?hls_ctx=abc"). Either may be empty.
    std::string personal(std::string_view location, std::string_view query) const;
};

Text write(const Manifest& manifest);

// A text as the content of an element or of an attribute in double quotes.
std::string escape(std::string_view text);

}  // namespace mpd
