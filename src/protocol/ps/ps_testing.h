#pragma once
// For tests of what cameras send: the parts of a program stream, made field by field, so that each may be wrong.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "protocol/ps/packet.h"
#include "protocol/ts/cells_testing.h"

namespace ps::testing {

using PsBytes = ts::testing::CellBytes;
using ts::testing::joined;

inline PsBytes pack(uint8_t stuffing = 0) {
    PsBytes out{0, 0, 1, kPack, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, static_cast<uint8_t>(0xf8 | stuffing)};
    out.resize(out.size() + stuffing, 0xff);
    return out;
}

// A part with a length.
inline PsBytes part(uint8_t code, std::span<const uint8_t> content) {
    PsBytes out{0, 0, 1, code, 0, 0};
    base::put_u16(&out[4], static_cast<uint32_t>(content.size()));
    out.insert(out.end(), content.begin(), content.end());
    return out;
}

inline PsBytes system_header() {
    return part(kSystemHeader, PsBytes{0x80, 0x7d, 0x01, 0x04, 0xe1, 0x7f, 0xe0, 0xe0, 0x80});
}

// streams: stream type and stream_id.
inline PsBytes stream_map(const std::vector<std::pair<uint8_t, uint8_t>>& streams, uint8_t version = 0) {
    PsBytes content{static_cast<uint8_t>(0xe0 | version), 0xff, 0, 0, 0, static_cast<uint8_t>(4 * streams.size())};
    for (const auto& [type, id] : streams) content.insert(content.end(), {type, id, 0, 0});
    content.insert(content.end(), {1, 2, 3, 4});  // a checksum that is wrong
    return part(kStreamMap, content);
}

inline void put_time(PsBytes& out, uint8_t mark, uint64_t ticks) {
    out.push_back(static_cast<uint8_t>(mark << 4 | ((ticks >> 29) & 0x0e) | 1));
    out.push_back(static_cast<uint8_t>(ticks >> 22));
    out.push_back(static_cast<uint8_t>(((ticks >> 14) & 0xfe) | 1));
    out.push_back(static_cast<uint8_t>(ticks >> 7));
    out.push_back(static_cast<uint8_t>((ticks << 1) | 1));
}

// A packet of a stream; pts, dts: ticks of 90 kHz.
inline PsBytes packet(uint8_t stream_id, std::optional<uint64_t> pts, std::span<const uint8_t> payload,
                      std::optional<uint64_t> dts = {}) {
    PsBytes content{0x80, static_cast<uint8_t>(pts ? (dts ? 0xc0 : 0x80) : 0),
                    static_cast<uint8_t>(pts ? (dts ? 10 : 5) : 0)};
    if (pts) put_time(content, dts ? 3 : 2, *pts);
    if (pts && dts) put_time(content, 1, *dts);
    content.insert(content.end(), payload.begin(), payload.end());
    return part(stream_id, content);
}

}  // namespace ps::testing
