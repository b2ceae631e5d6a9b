#pragma once
// The esds box (ISO/IEC 14496-14, 6.7) of mp4a sample entries: an ES_Descriptor (14496-1, 7.2.6.5), which gives the
// kind of audio and AAC's AudioSpecificConfig. Reading only: sample_entry.cpp writes it.

#include <cstdint>
#include <span>

#include "base/result.h"

namespace mp4 {

struct Esds {
    uint8_t object_type = 0;                 // 0x40: AAC; 0x6b, 0x69: MP3
    std::span<const uint8_t> specific_info;  // part of the payload; empty: none
};

// payload: of the box.
base::Result<Esds> parse_esds(std::span<const uint8_t> payload);

}  // namespace mp4
