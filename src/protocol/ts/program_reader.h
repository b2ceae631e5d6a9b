#pragma once
// Reads the sections of the two tables (ISO/IEC 13818-1, 2.4.4.3 and 2.4.4.8), whose CRC was checked: the programs with
// the PIDs of their maps, and a map.

#include <optional>
#include <span>
#include <vector>

#include "protocol/ts/demuxer.h"

namespace ts {

struct AssociatedProgram {
    uint16_t number = 0;
    uint16_t map_pid = kNullPid;
};

// The first `most` programs, in the section's order. Nothing when the section is malformed, contains no program, or is
// not yet applicable.
std::optional<std::vector<AssociatedProgram>> read_association(std::span<const uint8_t> section, size_t most);
// At most `most` of its streams, and kMaxTracks of each kind: it counts the others. Streams of unknown codecs take at
// most half of that, and are not counted. Languages are read of audio only.
std::optional<ProgramMap> read_program_map(std::span<const uint8_t> section, size_t most);

}  // namespace ts
