#pragma once
// For tests of what senders send: transport packets, sections and PES packets, made field by field, so that each may be
// wrong.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "protocol/ts/crc32.h"
#include "protocol/ts/packet.h"

namespace ts::testing {

using CellBytes = std::vector<uint8_t>;

inline CellBytes joined(std::initializer_list<CellBytes> parts) {
    CellBytes all;
    for (const CellBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

// One packet; what is free is stuffing of the adaptation field. payload: at most 184 bytes.
inline CellBytes cell(uint16_t pid, uint8_t cc, bool start, std::span<const uint8_t> payload, uint8_t flags = 0) {
    CellBytes out(kPacketSize, 0xff);
    const size_t stuffing = kPayloadSize - payload.size();
    const bool adaptation = stuffing > 0 || flags;
    uint8_t* p = put_packet_header(out.data(), pid, start, adaptation, !payload.empty(), cc);
    if (adaptation) *p = static_cast<uint8_t>(stuffing - 1);
    if (adaptation && stuffing > 1) p[1] = flags;
    std::ranges::copy(payload, out.end() - static_cast<ptrdiff_t>(payload.size()));
    return out;
}

// As many packets as it needs.
inline CellBytes cells(uint16_t pid, uint8_t cc, std::span<const uint8_t> payload, uint8_t flags = 0) {
    CellBytes out;
    for (bool first = true; first || !payload.empty(); first = false) {
        const size_t take = std::min(payload.size(), first && flags ? kPayloadSize - 2 : kPayloadSize);
        const CellBytes one = cell(pid, cc++, first, payload.first(take), first ? flags : uint8_t{0});
        out.insert(out.end(), one.begin(), one.end());
        payload = payload.subspan(take);
    }
    return out;
}

// content: behind the last section number. With its length and its checksum, in one packet.
inline CellBytes table(uint16_t pid, uint8_t cc, uint8_t id, uint16_t number, uint8_t version,
                       std::span<const uint8_t> content) {
    CellBytes section(8);
    section[0] = id;
    base::put_u16(&section[1], static_cast<uint32_t>(0xb000 | (content.size() + 9)));
    base::put_u16(&section[3], number);
    section[5] = static_cast<uint8_t>(0xc1 | version << 1);
    section.insert(section.end(), content.begin(), content.end());
    const uint32_t crc = crc32(section);
    section.resize(section.size() + 4);
    base::put_u32(section.data() + section.size() - 4, crc);
    section.insert(section.begin(), 0);  // pointer_field
    section.resize(kPayloadSize, 0xff);
    return cell(pid, cc, true, section);
}

struct MapEntry {
    uint8_t type = 0;
    uint16_t pid = 0;
    CellBytes descriptors{};
};

// programs: number and the PID of the map.
inline CellBytes association(uint8_t cc, std::initializer_list<std::pair<uint16_t, uint16_t>> programs) {
    CellBytes content;
    for (const auto& [number, pid] : programs) {
        content.resize(content.size() + 4);
        base::put_u16(base::put_u16(content.data() + content.size() - 4, number), 0xe000u | pid);
    }
    return table(kPatPid, cc, 0, 1, 0, content);
}

inline CellBytes program_map(uint16_t pid, uint8_t cc, uint16_t number, std::initializer_list<MapEntry> entries,
                             uint8_t version = 0) {
    CellBytes content{0xff, 0xff, 0xf0, 0};  // no PCR, no descriptors
    for (const MapEntry& entry : entries) {
        const auto size = static_cast<uint8_t>(entry.descriptors.size());
        content.insert(content.end(), {entry.type, static_cast<uint8_t>(0xe0 | entry.pid >> 8),
                                       static_cast<uint8_t>(entry.pid), 0xf0, size});
        content.insert(content.end(), entry.descriptors.begin(), entry.descriptors.end());
    }
    return table(pid, cc, 2, number, version, content);
}

// has_length: otherwise it is 0, and the next packet ends this one.
inline CellBytes pes(uint8_t stream_id, std::optional<uint64_t> pts, std::span<const uint8_t> payload,
                     bool has_length = true, std::optional<uint64_t> dts = {}) {
    CellBytes out{0, 0, 1, stream_id, 0, 0, 0x80, 0, 0};
    out.resize(9 + (pts ? 5 : 0) + (dts ? 5 : 0));
    out[7] = static_cast<uint8_t>((pts ? 0x80 : 0) | (dts ? 0x40 : 0));
    out[8] = static_cast<uint8_t>(out.size() - 9);
    if (pts) put_time_stamp(&out[9], dts ? 3 : 2, *pts);
    if (dts) put_time_stamp(&out[14], 1, *dts);
    out.insert(out.end(), payload.begin(), payload.end());
    if (has_length) base::put_u16(&out[4], static_cast<uint32_t>(out.size() - 6));
    return out;
}

}  // namespace ts::testing
