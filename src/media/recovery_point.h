#pragma once
// Recovery points of H.264 and HEVC: a stream with periodic intra refresh has no IDR pictures after its first. An SEI
// message marks where a decoder may begin (H.264, D.2.8; HEVC, D.3.8): some frames later the picture is correct. Pure.

#include <cstdint>
#include <span>

#include "media/codec.h"

namespace media {

// Whether the SEI unit of H.264 or HEVC, with its header, has the message, and the picture is correct soon. Only the
// beginning of a long unit is read.
bool is_recovery_point(Codec codec, std::span<const uint8_t> sei);

// Where a track's players may begin. Recovery points that follow a keyframe too soon are ignored: there are encoders
// that mark each frame.
class RecoveryPoints {
  public:
    static constexpr uint32_t kMinFrames = 10;

    // Whether players may begin with this frame; called for each in order. keyframe: decoding can start at once.
    bool may_begin_at(bool keyframe, bool recovery_point) {
        if (!keyframe && !(recovery_point && since_ >= kMinFrames)) {
            since_ += since_ < kMinFrames;
            return false;
        }
        since_ = 1;
        return true;
    }

  private:
    uint32_t since_ = kMinFrames;  // the frames since such a frame, at most kMinFrames
};

}  // namespace media
