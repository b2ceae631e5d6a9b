#pragma once
// HLS playlists (RFC 8216, section 4): writes what a live server needs, and reads it. A media playlist's key and map
// are stored with each segment; the writer emits the tags only where they change. A master playlist has one variant,
// and audio renditions. Not supported: byte ranges, other renditions, I-frame playlists and server control; the reader
// skips unknown tags and reads no master playlists.

#include <cstdint>
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

struct Segment {
    std::string uri;
    int64_t duration_us = 0;
    bool discontinuity = false;  // before this segment
    Key key{};
    std::string map_uri{};  // EXT-X-MAP; empty: none. Maps are never encrypted.
    bool gap = false;       // EXT-X-GAP: it cannot be fetched, and its key and map do not matter
    int64_t date_ms = 0;    // EXT-X-PROGRAM-DATE-TIME: the wall clock at its beginning, since 1970; 0: none
    friend bool operator==(const Segment&, const Segment&) = default;
};

struct MediaPlaylist {
    int64_t target_duration_s = 0;
    uint64_t media_sequence = 0;  // of the first segment
    uint64_t discontinuity_sequence = 0;
    bool independent_segments = false;
    bool ended = false;  // EXT-X-ENDLIST
    std::vector<Segment> segments;
    friend bool operator==(const MediaPlaylist&, const MediaPlaylist&) = default;
};

struct Variant {
    std::string uri;
    uint64_t bandwidth = 0;          // bit/s, of the segment with the highest rate
    uint64_t average_bandwidth = 0;  // bit/s; 0: unknown
    int width = 0;                   // pixels; 0: unknown
    int height = 0;
    std::string codecs{};   // of all tracks, by RFC 6381, "avc1.64001f,mp4a.40.2"; empty: not all are known
    double frame_rate = 0;  // the highest, per second; 0: unknown, or no video
};

// EXT-X-MEDIA with TYPE=AUDIO (4.3.4.1).
struct AudioRendition {
    std::string uri{};        // empty: it is in the variant itself
    std::string name{};       // for people; of no two the same
    std::string language{};   // RFC 5646; empty: not known
    int channels = 0;         // 0: not known
    bool is_default = false;  // played unless the viewer chooses another
    bool autoselect = false;  // a player may choose it by its language
};

struct WrittenPlaylist {
    struct UriEnd {
        uint32_t at;
        bool has_query;
    };
    std::string text;
    std::vector<UriEnd> uri_ends;  // of segments, keys and maps, in their order
};
WrittenPlaylist write(const MediaPlaylist& playlist);
// The text for one viewer: the query "?hls_ctx=abc" follows every URI. A URI that has a query gets it with '&'.
std::string with_query(const WrittenPlaylist& playlist, std::string_view query);
// What a quoted string in an attribute list can have of a text: no quotes, no line breaks (4.2).
std::string quotable(std::string_view text);
// audio: all in one group, which the variant names; none: there is no group. Its texts may be any.
std::string write_master(const Variant& variant, std::span<const AudioRendition> audio = {});

// Limits of the reader.
inline constexpr size_t kMaxBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxSegments = 50'000;

// kProtocol: not a playlist, a master playlist, or malformed numbers.
base::Result<MediaPlaylist> read(std::string_view text);

}  // namespace m3u8
