#pragma once
// Reads the sections of the two tables (ISO/IEC 13818-1, 2.4.4.3 and 2.4.4.8), whose CRC was checked: the PID of the
// first program's map, and the map.

#include <optional>
#include <span>

#include "protocol/ts/testing/demuxer.h"

namespace ts {

// The PID of the map. Nothing when the section is malformed, contains no program, or is not yet applicable.
std::optional<uint16_t> read_association(std::span<const uint8_t> section);
// At most `most` of its streams, and kMaxTracks of each kind: it counts the others. Languages are read of audio only.
std::optional<ProgramMap> read_program_map(std::span<const uint8_t> section, size_t most);

}  // namespace ts
