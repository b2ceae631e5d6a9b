#pragma once
// PerTrack: a value for each video and audio track, found by kind and Frame::track.

#include <array>
#include <cstdint>

#include "media/frame.h"

namespace media {

template <class T>
class PerTrack {
  public:
    using OfKind = std::array<T, kMaxTracks>;

    // kind: video or audio. track: less than kMaxTracks.
    T& at(Kind kind, uint8_t track) { return of(kind)[track]; }
    const T& at(Kind kind, uint8_t track) const { return of(kind)[track]; }
    OfKind& of(Kind kind) { return kind == Kind::kVideo ? video_ : audio_; }
    const OfKind& of(Kind kind) const { return kind == Kind::kVideo ? video_ : audio_; }
    void for_each(auto&& call) {
        for (T& value : video_) call(value);
        for (T& value : audio_) call(value);
    }

  private:
    OfKind video_{}, audio_{};
};

}  // namespace media
