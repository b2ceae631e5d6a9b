#pragma once
// SegmentPaths: the paths of a stream's HLS files below their directory, and their URIs in the playlist. A name chosen
// by a client never leads out of the directory: a name that could is refused. Pure, except for the time zone.
//
// Files of another rendition (RenditionId) have the main one's names with a suffix before the extension:
// "cam~audio2.m3u8", "cam-7~audio2.ts"; the multivariant playlist is "cam~master.m3u8". Parts of segments, which are
// in memory only, are "cam~p123.ts". A stream whose own files would look like that is refused, so that a file is never
// two streams'.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/stream.h"
#include "service/hls/config.h"

namespace service::hls {

// What a rendition has: the first video track and the first audio track; the video alone; or an audio track.
using RenditionId = uint8_t;
inline constexpr RenditionId kMainRendition = 0, kVideoRendition = 1, kFirstAudioRendition = 2,
                             kRenditions = kFirstAudioRendition + media::kMaxTracks;
constexpr RenditionId audio_rendition(uint8_t track) { return static_cast<RenditionId>(kFirstAudioRendition + track); }

// The values of the variables in a segment's name.
struct PathValues {
    uint64_t sequence = 0;
    int64_t clock_ms = 0;  // wall clock, at the segment's beginning
    int64_t duration_ms = 0;
};

// Whether it is named as a part of a segment: "cam~p123.ts", in letters of any case.
bool is_part(std::string_view path);

class SegmentPaths {
  public:
    static constexpr size_t kMaxNameBytes = 160;  // of an app or stream name: file systems allow 255 with our additions
    static constexpr size_t kMaxPathBytes = 1024;

    // kRefused: a name that is not a valid path component; the text says why.
    static base::Result<SegmentPaths> make(const VhostConfig& hls, const live::StreamKey& key, bool utc);

    // The paths of a rendition, made from the main one's.
    SegmentPaths of_rendition(RenditionId id) const;

    bool is_main() const { return suffix_.empty(); }

    const std::string& playlist() const { return playlist_; }
    // The multivariant playlist of a stream with several audio tracks; of the main names.
    std::string master() const;
    // numbered: the plain name is in use by another segment.
    std::string segment(const PathValues& values, bool numbered = false) const;
    // A part of a segment, by its number, and the texts around that.
    std::string part(uint64_t number) const;
    std::string before_part() const;
    std::string_view after_part() const { return extension_; }
    std::string key(const PathValues& values) const;
    // numbered: the plain name is in use by another initialisation segment.
    std::string init(const PathValues& values, bool numbered) const;
    // The file's name while it is being written. It differs from the temporary names of small files written at once.
    std::string growing(uint64_t number) const;
    // Whether that is the last component of the path of such a file, or of a playlist that is being written.
    bool is_growing(std::string_view file_name) const;

    // URIs as written in the playlist.
    std::string segment_uri(std::string_view path) const { return uri(entry_prefix_, path); }
    std::string key_uri(std::string_view path) const { return uri(key_url_, path); }
    // The reverse; nothing if the URI is not below the directory.
    std::optional<std::string> segment_path(std::string_view uri) const { return path(entry_prefix_, uri); }
    std::optional<std::string> key_path(std::string_view uri) const { return path(key_url_, uri); }

  private:
    std::string uri(const std::string& prefix, std::string_view path) const;
    std::optional<std::string> path(const std::string& prefix, std::string_view uri) const;
    std::string expand(const std::string& pattern, const PathValues& values) const;

    live::StreamKey key_;
    std::string suffix_;  // before the extensions
    std::string playlist_;
    std::string segment_pattern_;
    std::string init_pattern_;
    std::string key_pattern_;
    std::string entry_prefix_;
    std::string key_url_;
    std::string_view extension_;  // of parts
    bool utc_ = false;
    int64_t floor_ms_ = 0;  // hls_ts_floor: [timestamp] counts units of this; 0: ms
};

// The path of the stream's main playlist, main segment ... in whose place this one stands for a rendition or as the
// multivariant playlist; any other path as it is. In letters of any case, because some file systems ignore it.
std::string without_suffix(std::string_view path);

// The stream whose main playlist has that path below hls_path. Nothing: there is none, or hls_m3u8_file does not say
// which of several it is.
std::optional<live::StreamKey> stream_of_playlist(const VhostConfig& hls, const std::string& vhost,
                                                  std::string_view path);

// Or whose playlist of HLS or manifest of DASH it is, of those that the vhost has.
std::optional<live::StreamKey> stream_of(const config::Vhost& vhost, std::string_view path);

// The path below hls_path or dash_path of the path of a request: files are at the root of the server, and where
// http_static mounts that.
std::string path_below(const config::Vhost& vhost, std::string_view path);

}  // namespace service::hls
