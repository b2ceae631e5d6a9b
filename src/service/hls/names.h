#pragma once
// Names: where a stream's files of HLS are below their directory, and how its playlist names them. The names that
// clients chose never lead out of the directory: what could is refused. Pure, but for the calendar.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/stream.h"

namespace service::hls {

// Of a segment: what the variables of its name stand for.
struct Moment {
    uint64_t sequence = 0;
    int64_t clock_ms = 0;  // wall clock, at its beginning
    int64_t duration_ms = 0;
};

class Names {
  public:
    static constexpr size_t kMaxNameBytes = 160;  // of an app or stream: file systems take 255 with what we add
    static constexpr size_t kMaxPathBytes = 1024;

    // kRefused: a name that is no part of a path, with the reason.
    static base::Result<Names> make(const config::VhostHls& hls, const live::StreamKey& key, bool utc);

    const std::string& playlist() const { return playlist_; }
    std::string segment(const Moment& moment) const;
    std::string key(const Moment& moment) const;
    // numbered: another one of that name is in use.
    std::string init(const Moment& moment, bool numbered) const;
    // Another path than this, which is taken: with the number before its extension.
    static std::string numbered(std::string_view path, uint64_t number);
    // The file while it grows. Not the name that whole small files have while they are written.
    std::string growing(uint64_t number) const;
    // The number of such a file by the last part of its path; 0: a playlist that was being written.
    std::optional<uint64_t> growing_number(std::string_view file_name) const;

    // As the playlist has them.
    std::string segment_uri(std::string_view path) const { return uri(entry_prefix_, path); }
    std::string key_uri(std::string_view path) const { return uri(key_url_, path); }
    // Back: none when it is not below the directory.
    std::optional<std::string> segment_path(std::string_view uri) const { return path(entry_prefix_, uri); }
    std::optional<std::string> key_path(std::string_view uri) const { return path(key_url_, uri); }

  private:
    std::string uri(const std::string& prefix, std::string_view path) const;
    std::optional<std::string> path(const std::string& prefix, std::string_view uri) const;
    std::string expand(const std::string& pattern, const Moment& moment) const;

    live::StreamKey key_;
    std::string playlist_;
    std::string segment_pattern_;
    std::string init_pattern_;
    std::string key_pattern_;
    std::string entry_prefix_;
    std::string key_url_;
    bool utc_ = false;
    int64_t floor_ms_ = 0;  // hls_ts_floor: [timestamp] counts these; 0: ms
};

// A path relative to the folder of `from`, both relative to the same root, percent-encoded.
std::string relative_uri(std::string_view from, std::string_view path);

}  // namespace service::hls
