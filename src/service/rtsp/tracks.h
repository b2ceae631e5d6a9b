#pragma once
// PlayKey: what a player set up: tracks of a stream, with their payload types, on interleaved channels. Players with
// the same key get the same bytes, so it is the key of their log (live::LogKey).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "live/fanout/wire_encoder.h"
#include "media/codec.h"
#include "media/track_set.h"

namespace service::rtsp {

// The tracks of a stream that can be played; further ones are not in descriptions.
inline constexpr size_t kMaxPlayTracks = 4;

struct PlayTrack {
    media::Kind kind = media::Kind::kVideo;
    uint8_t index = 0;  // media::Frame::track
    media::Codec codec = media::Codec::kNone;
    uint8_t payload_type = 0;
    uint8_t channel = 0;  // of RTP; RTCP has the next one

    friend bool operator==(const PlayTrack&, const PlayTrack&) = default;
};

class PlayKey {
  public:
    PlayKey() = default;
    explicit PlayKey(const live::LogKey& key);

    // Ignored when there are kMaxPlayTracks already.
    void add(const PlayTrack& track);
    size_t size() const { return size_; }
    const PlayTrack& operator[](size_t i) const { return tracks_[i]; }

    live::LogKey log_key() const;
    // The channels are 0-1, 2-3 ... in the tracks' order, as nearly all clients choose them.
    bool is_common() const;

  private:
    std::array<PlayTrack, kMaxPlayTracks> tracks_{};
    size_t size_ = 0;
};

}  // namespace service::rtsp
