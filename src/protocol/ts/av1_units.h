#pragma once
// AV1 in a transport stream: the temporal unit of a PES packet as a frame's payload has it (AV1 in ISOBMFF, 2.4: OBUs
// with sizes, without temporal delimiters). There are two forms in the field: OBUs behind start codes, with emulation
// prevention ("Carriage of AV1 in MPEG-2 TS"), and OBUs with sizes as they are in files. Pure.

#include <span>

#include "base/result.h"
#include "base/slice.h"

namespace ts {

struct Av1Unit {
    base::Slice payload;
    base::Slice config;  // AV1CodecConfigurationRecord, if the unit has a sequence header
    bool keyframe = false;
};

// kProtocol: an OBU runs past the end, or a sequence header is malformed.
base::Result<Av1Unit> read_av1_unit(std::span<const uint8_t> pes);

}  // namespace ts
