#pragma once
// The part of an HEVC sequence parameter set from the coding block sizes to the VUI's timing (ITU-T H.265, 7.3.2.2.1,
// 7.3.4, 7.3.7 and E.2.1): parsed only because the timing stands at its end.

#include "base/bits.h"
#include "media/time.h"

namespace media {

// bits: behind sps_max_latency_increase_plus1. order_bits: of pic_order_cnt_lsb, 4 to 16. The duration of a frame; 0:
// not declared, or malformed.
Time read_hevc_frame_duration(base::BitReader& bits, int order_bits);

}  // namespace media
