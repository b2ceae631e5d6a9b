#pragma once
// Whether a video frame is a B picture: one that is shown before frames that were decoded earlier, which players of
// RTP that show what they decode cannot order. H.264 tells by slice_type (ITU-T H.264, 7.3.3, table 7-6); for every
// codec a presentation time before an earlier one's tells. It reads the first slice alone.

#include <cstdint>
#include <span>

#include "media/frame.h"

namespace media {

class BFrameDetector {
  public:
    // In decoding order; sequence headers are no frames. length_size: bytes of NAL unit length prefixes (H.264).
    bool is_b_frame(const Frame& frame, int length_size);

  private:
    int64_t latest_pts_ = INT64_MIN;
};

// slice: an H.264 NAL unit.
bool is_h264_b_slice(std::span<const uint8_t> slice);

}  // namespace media
