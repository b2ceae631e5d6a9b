#pragma once
// StreamMap: what the program stream map says (ISO/IEC 13818-1, 2.5.4): which stream_id has which codec. Its checksum
// is not checked: cameras of GB/T 28181 write any.

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/ts/demuxer.h"

namespace ps {

// Stream types that only program streams of cameras have (GB/T 28181, annex C).
enum StreamType : uint8_t { kPcmAlaw = 0x90, kPcmUlaw = 0x91 };

// Streams of a kind that are read; more are skipped.
inline constexpr size_t kMaxStreamsOfKind = 2;

// map: from its start code on, whole. Only the streams that are read are in the result, with their stream_id as pid.
// Nothing: it is malformed, or not in use yet.
std::optional<ts::ProgramMap> read_stream_map(std::span<const uint8_t> map);

}  // namespace ps
