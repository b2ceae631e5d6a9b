#pragma once
// HLS playlists (RFC 8216, section 4; low latency: draft-pantos-hls-rfc8216bis, 4.4): writes what a live server needs,
// and reads it. A media playlist's key and map are stored with each segment; the writer emits the tags only where they
// change. A multivariant playlist has variants, each with its audio renditions. Not supported: byte ranges, other
// renditions and I-frame playlists. The reader skips unknown tags, and those of low latency: it reads whole segments.
// It reads no master playlists and no delta updates.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace m3u8 {

// EXT-X-KEY with METHOD=AES-128; without a URI the segment is not encrypted.
struct Key {
    std::string uri;
    std::string iv;  // 32 hex digits, in upper case (4.2); empty: the media sequence number is the IV
    friend bool operator==(const Key&, const Key&) = default;
};

// EXT-X-PART (4.4.4.9 of the draft).
struct Part {
    std::string uri{};
    int64_t duration_us = 0;
    bool independent = false;  // it begins with a keyframe
    bool gap = false;          // it cannot be fetched
    friend bool operator==(const Part&, const Part&) = default;
};

struct Segment {
    std::string uri{};
    int64_t duration_us = 0;
    bool discontinuity = false;  // before this segment
    Key key{};
    std::string map_uri{};  // EXT-X-MAP; empty: none. Maps are never encrypted.
    bool gap = false;       // EXT-X-GAP: it cannot be fetched, and without a map its key does not matter
    int64_t date_ms = 0;    // EXT-X-PROGRAM-DATE-TIME: the wall clock at its beginning, since 1970; 0: none
    std::vector<Part> parts{};
    friend bool operator==(const Segment&, const Segment&) = default;
};

struct MediaPlaylist {
    int64_t target_duration_s = 0;
    uint64_t media_sequence = 0;  // of the first segment
    uint64_t discontinuity_sequence = 0;
    bool independent_segments = false;
    bool ended = false;  // EXT-X-ENDLIST
    std::vector<Segment> segments{};
    bool can_block = false;  // EXT-X-SERVER-CONTROL: reloads may wait for what comes next
    bool can_skip = false;   // likewise: delta updates may be asked for
    // With can_block: EXT-X-PART-INF. Without: a comment, for who continues the playlist. 0: there are no parts.
    int64_t part_target_us = 0;
    friend bool operator==(const MediaPlaylist&, const MediaPlaylist&) = default;
};

// EXT-X-MEDIA with TYPE=AUDIO (4.3.4.1).
struct AudioRendition {
    std::string uri{};        // empty: it is in the variant itself
    std::string name{};       // for people; of no two of a variant the same
    std::string language{};   // RFC 5646; empty: not known
    int channels = 0;         // 0: not known
    bool is_default = false;  // played unless the viewer chooses another
    bool autoselect = false;  // a player may choose it by its language
};

struct Variant {
    std::string uri;
    uint64_t bandwidth = 0;          // bit/s, of the segment with the highest rate
    uint64_t average_bandwidth = 0;  // bit/s; 0: unknown
    int width = 0;                   // pixels; 0: unknown
    int height = 0;
    std::string codecs{};   // of all tracks, by RFC 6381, "avc1.64001f,mp4a.40.2"; empty: not all are known
    double frame_rate = 0;  // the highest, per second; 0: unknown, or no video
    std::vector<AudioRendition> audio{};  // a group of its own, which only it names; empty: there is none
    // Closed captions within its video. kNone of one, and kSeen of none, is CLOSED-CAPTIONS=NONE of all (4.3.4.2).
    enum class Captions : uint8_t { kUnknown, kNone, kSeen } captions = Captions::kUnknown;
};

struct MultivariantPlaylist {
    bool independent_segments = false;  // of all its playlists
    std::vector<Variant> variants{};
};

struct WrittenPlaylist {
    struct UriEnd {
        uint32_t at;
        bool has_query;
    };
    std::string text;
    std::vector<UriEnd> uri_ends;  // of all URIs, in their order
    // Those that apply to what follows.
    Key key;
    std::string map_uri;
};

// What a low-latency playlist does not have of its segments. The defaults: neither segments nor parts are left out.
struct LeftOut {
    size_t segments = 0;       // the first ones, which a delta update skips (EXT-X-SKIP)
    size_t without_parts = 0;  // of the first segments no parts are listed
    friend bool operator==(const LeftOut&, const LeftOut&) = default;
};
// Durations of so many target durations (4.4.3.8 and 6.2.2 of the draft).
inline constexpr int64_t kSkipTargets = 6, kPartTargets = 3;

// Without the open segment.
WrittenPlaylist write(const MediaPlaylist& playlist, const LeftOut& left_out = {});
// How many segments a delta update skips: those that end further than kSkipTargets before the last one's end. 0: it is
// the whole playlist.
size_t skippable(const MediaPlaylist& playlist);
// Of how many segments no parts are listed any more: of those that end further than kPartTargets before the end of the
// playlist. open_us: the duration of the open segment's parts.
size_t without_parts(const MediaPlaylist& playlist, int64_t open_us);

// EXT-X-RENDITION-REPORT (4.4.5.4 of the draft).
struct RenditionReport {
    std::string uri{};  // relative to the playlist
    uint64_t last_msn = 0;
    std::optional<uint64_t> last_part{};  // nothing: the last segment is complete
};

// The end of a low-latency playlist that goes on: what changes with each part.
struct PlaylistTail {
    Segment open{};          // it has parts, but no URI and no duration yet; without parts: there is none
    std::string hint_uri{};  // of the next part; empty: unknown
    std::vector<RenditionReport> reports{};
};
// Its text, which follows that of the playlist. The last URIs are those of the reports.
WrittenPlaylist write_tail(const WrittenPlaylist& playlist, const PlaylistTail& tail);
// The text for one viewer: the query "?hls_ctx=abc" follows the URIs, but for the first `without` ones. A URI that has
// a query gets it with '&'.
std::string with_query(const WrittenPlaylist& playlist, std::string_view query, size_t without = 0);
// What a quoted string in an attribute list can have of a text: no quotes, no line breaks (4.2).
std::string quotable(std::string_view text);
// Texts in it may be any.
std::string write(const MultivariantPlaylist& playlist);

// Of a playlist without EXT-X-PART-INF: the part target, in seconds.
inline constexpr std::string_view kPartTarget = "#part-target:";

// Limits of the reader.
inline constexpr size_t kMaxBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxSegments = 50'000;

// kProtocol: not a playlist, a master playlist, or malformed numbers.
base::Result<MediaPlaylist> read(std::string_view text);

}  // namespace m3u8
