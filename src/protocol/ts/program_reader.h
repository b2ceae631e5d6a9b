#pragma once
// Reads the two tables' sections (ISO/IEC 13818-1, 2.4.4.3 and 2.4.4.8), whose CRC was checked: which PID has the map
// of the first program, and what the map says.

#include <optional>
#include <span>

#include "protocol/ts/demuxer.h"

namespace ts {

// Nothing when the section is broken, names no program, or is not in force yet.
std::optional<uint16_t> read_association(std::span<const uint8_t> section);
// At most `most` streams of it.
std::optional<ProgramMap> read_program_map(std::span<const uint8_t> section, size_t most);

}  // namespace ts
