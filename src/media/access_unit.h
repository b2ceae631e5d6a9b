#pragma once
// What the NAL units of an access unit of H.264 or HEVC say of it (ITU-T H.264, 7.4.1.2.4; H.265, 7.4.2.4.4): whether
// decoding can begin there. Publishers' flags say otherwise at times: IDR pictures flagged as inter frames, or every
// frame as a keyframe. One iteration over the units; of a slice no more than its type is read. Pure.

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "media/codec.h"

namespace media {

struct AccessUnit {
    // Decoding can begin at once: it has an IDR picture (HEVC: any with random access), or the publisher says so and
    // its units do not contradict: it has I slices alone (H.264: encoders without IDR pictures after the first), or
    // none.
    bool keyframe = false;
    // It has none, but an SEI message before its slices says that decoding may begin (recovery_point.h).
    bool recovery_point = false;
};

// payload: length-prefixed NAL units. flagged: the publisher's format flags it as a keyframe. An error describes the
// defect: a length prefix runs past the end, or there is no unit that is not empty (some encoders put empty ones
// between).
base::Result<AccessUnit> read_access_unit(Codec codec, std::span<const uint8_t> payload, int nalu_length_size,
                                          bool flagged);

// slice_type modulo 5 (table 7-6) of an H.264 slice: 0 P, 1 B, 2 I, 3 SP, 4 SI. Nothing: the unit has none.
std::optional<uint8_t> h264_slice_type(std::span<const uint8_t> nalu);

}  // namespace media
