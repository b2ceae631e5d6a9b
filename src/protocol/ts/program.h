#pragma once
// Program: the content of our program map table, and the packets of both tables (ISO/IEC 13818-1, 2.4.4; Opus as in
// ETSI TS 101 154 and the "Opus in MPEG-TS" draft; AC-3 as in ATSC A/52, annex A). One program of at most kMaxTracks
// video and as many audio tracks. Each table is one section; the map of many tracks takes several packets.

#include <array>
#include <cstdint>

#include "media/codec.h"
#include "media/frame.h"
#include "media/language.h"
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
inline constexpr uint8_t kRegistration = 5, kExtension = 0x7f, kOpusExtension = 0x80, kDvbAc3 = 0x6a, kDvbEac3 = 0x7a,
                         kIso639Language = 0x0a;

// Whether we write this codec: H.264, HEVC; AAC, MP3, Opus, AC-3, E-AC-3.
bool carries(media::Codec codec);

struct ProgramTrack {
    media::Codec codec = media::Codec::kNone;  // kNone: no such track
    uint8_t opus_channels = 2;
    bool low_rate_mp3 = false;   // MPEG-2 sample rates, which have their own stream type
    media::Language language{};  // audio only
    bool operator==(const ProgramTrack&) const = default;
};

// The PID of a track depends on its kind and index only, so that it stays when other tracks come and go: the video
// tracks have 0x100, 0x102, 0x104 ..., the audio tracks 0x101, 0x103, 0x105 ...
inline constexpr size_t kMaxProgramTracks = 2 * media::kMaxTracks;
constexpr uint16_t pid_of(media::Kind kind, uint8_t index) {
    return static_cast<uint16_t>((kind == media::Kind::kVideo ? kVideoPid : kAudioPid) + 2 * index);
}

// The map lists the video tracks before the audio tracks, each by index. The first that is in it has the PCR.
struct Program {
    std::array<ProgramTrack, media::kMaxTracks> video{}, audio{};  // by index

    bool has_video() const;
    uint16_t pcr_pid() const;  // kNullPid: the program is empty
    bool empty() const { return pcr_pid() == kNullPid; }
    bool operator==(const Program&) const = default;
};

// The number of packets of the map.
size_t map_packets(const Program& program);
inline size_t tables_size(const Program& program) { return (1 + map_packets(program)) * kPacketSize; }

// The most that tables_size() returns: each video track takes at most 11 bytes of the map and each audio track 21, and
// what is around them 17.
inline constexpr size_t kMaxTablesSize =
    (1 + (17 + media::kMaxTracks * (11 + 21) + kPayloadSize - 1) / kPayloadSize) * kPacketSize;

// Writes both tables. version: of the map, 0 to 31; pat_cc, pmt_cc: the continuity counters of the first packet of
// each. Writes tables_size() bytes; returns the end.
uint8_t* put_tables(uint8_t* out, const Program& program, uint8_t version, uint8_t pat_cc, uint8_t pmt_cc);

}  // namespace ts
