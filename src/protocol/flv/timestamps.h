#pragma once
// Timestamps: a publisher's 32-bit timestamps (RTMP chunk stream, 5.3.1.1; FLV, E.4.1) as times that do not wrap. They
// are ms and go on over the wrap at 2^32, each track by itself. Pure.

#include <cstddef>
#include <cstdint>

#include "media/codec.h"
#include "media/time.h"

namespace flv {

class Timestamps {
  public:
    // The time of an audio or video frame.
    media::Time of_frame(media::Kind kind, uint32_t timestamp);
    // The time of a sequence header or a data message. Publishers often stamp these 0, so it moves nothing.
    media::Time of_companion(uint32_t timestamp) const;

  private:
    struct Track {
        bool started = false;
        uint32_t timestamp = 0;  // the last one
        int64_t ms = 0;          // and without wrapping
    };
    static int64_t extend(const Track& from, uint32_t timestamp);

    Track tracks_[2];  // video, audio
    size_t last_ = 0;  // the one whose frame came last
};

}  // namespace flv
