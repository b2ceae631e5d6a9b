#pragma once
// Program: the content of our program map table, and the packets of both tables (ISO/IEC 13818-1, 2.4.4; Opus as in
// ETSI TS 101 154 and the "Opus in MPEG-TS" draft; AC-3 as in ATSC A/52, annex A). One program, at most one video and
// one audio track, each table in one packet.

#include <cstdint>

#include "media/codec.h"
#include "protocol/ts/packet.h"

namespace ts {

// Stream types of the program map table.
enum StreamType : uint8_t {
    kMpeg1Audio = 0x03,
    kMpeg2Audio = 0x04,  // the lower sample rates
    kPrivateData = 0x06,
    kAdtsAac = 0x0f,
    kLatmAac = 0x11,
    kH264 = 0x1b,
    kHevc = 0x24,
    kAc3 = 0x81,
    kEac3 = 0x87,
};

// Table ids.
inline constexpr uint8_t kPatTable = 0, kPmtTable = 2;

// Descriptor tags; an extension descriptor contains a second tag.
inline constexpr uint8_t kRegistration = 5, kExtension = 0x7f, kOpusExtension = 0x80, kDvbAc3 = 0x6a, kDvbEac3 = 0x7a;

// Whether we write this codec: H.264, HEVC; AAC, MP3, Opus, AC-3, E-AC-3.
bool carries(media::Codec codec);

struct Program {
    media::Codec video = media::Codec::kNone;  // kNone: no such track
    media::Codec audio = media::Codec::kNone;
    uint8_t opus_channels = 2;
    bool low_rate_mp3 = false;  // MPEG-2 sample rates, which have their own stream type

    uint16_t pcr_pid() const {
        return video != media::Codec::kNone ? kVideoPid : audio != media::Codec::kNone ? kAudioPid : kNullPid;
    }
    bool empty() const { return pcr_pid() == kNullPid; }
    bool operator==(const Program&) const = default;
};

inline constexpr size_t kTablesSize = 2 * kPacketSize;

// Writes both tables. version: of the map, 0 to 31; cc: the continuity counter, the same for both PIDs. Writes
// kTablesSize bytes.
uint8_t* put_tables(uint8_t* out, const Program& program, uint8_t version, uint8_t cc);

}  // namespace ts
