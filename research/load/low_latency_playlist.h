#pragma once
// LowLatencyPlaylist: what a player needs of a media playlist of low-latency HLS (draft-pantos-hls-rfc8216bis): its
// parts, when each was due, and what to ask for next. Pure.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace load {

struct LowLatencyPlaylist {
    struct Part {
        uint64_t msn = 0;    // of its segment
        uint64_t index = 0;  // in its segment
        std::string uri{};
        int64_t due_us = 0;  // the wall clock at its end, by the dates of the playlist; 0: there are none
        bool gap = false;    // it cannot be fetched
    };
    std::vector<Part> parts{};
    std::string directives{};  // of the request that waits for the next part: "_HLS_msn=7&_HLS_part=1"
    bool ended = false;
};

// kProtocol: not a media playlist, or malformed.
base::Result<LowLatencyPlaylist> read_low_latency_playlist(std::string_view text);
// The URI of the first variant of a multivariant playlist; empty: it is none.
std::string first_variant(std::string_view text);

// Playlists that many players get, as they come, are read once. A body may be gzipped.
class LowLatencyPlaylists {
  public:
    base::Result<std::shared_ptr<const LowLatencyPlaylist>> read(std::string_view body);

  private:
    static constexpr size_t kKept = 4;
    struct Kept {
        std::string body;
        std::shared_ptr<const LowLatencyPlaylist> playlist;
    };
    std::deque<Kept> kept_;  // the newest first
};

// kProtocol: it is not gzipped.
base::Result<std::string> gunzip(std::string_view bytes);

}  // namespace load
