#pragma once
// Detects B-frames: video frames that are presented before frames that were decoded earlier. RTP players that present
// frames in decoding order cannot reorder them. For H.264 by slice_type (ITU-T H.264, 7.3.3, table 7-6); for every
// codec by a presentation time before an earlier one's. It parses only the first slice.

#include <cstdint>
#include <span>

#include "media/frame.h"

namespace media {

class BFrameDetector {
  public:
    // In decoding order; sequence headers do not count as frames. length_size: bytes of NAL unit length prefixes
    // (H.264).
    bool is_b_frame(const Frame& frame, int length_size);

  private:
    Time latest_pts_ = kNoTime;
};

// slice: an H.264 NAL unit.
bool is_h264_b_slice(std::span<const uint8_t> slice);

}  // namespace media
