#include "protocol/ts/program.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "protocol/ts/crc32.h"

namespace ts {
namespace {

using media::Codec;

constexpr uint16_t kTransportStreamId = 1, kProgramNumber = 1;

uint8_t* put_registration(uint8_t* p, std::string_view format) {
    *p++ = kRegistration;
    *p++ = static_cast<uint8_t>(format.size());
    std::memcpy(p, format.data(), format.size());
    return p + format.size();
}

uint8_t* put_language(uint8_t* p, const media::Language& language) {
    *p++ = kIso639Language;
    *p++ = 4;
    p = std::copy(language.begin(), language.end(), p);
    *p++ = 0;  // audio type: undefined
    return p;
}

uint8_t* put_descriptors(uint8_t* p, const ProgramTrack& track) {
    if (track.language != media::Language{}) p = put_language(p, track.language);
    if (track.codec == Codec::kHevc) return put_registration(p, "HEVC");
    if (track.codec == Codec::kAc3) return put_registration(p, "AC-3");
    if (track.codec == Codec::kEac3) return put_registration(p, "EAC3");
    if (track.codec != Codec::kOpus) return p;
    p = put_registration(p, "Opus");
    *p++ = kExtension;
    *p++ = 2;
    *p++ = kOpusExtension;
    *p++ = track.opus_channels;
    return p;
}

uint8_t stream_type(const ProgramTrack& track) {
    switch (track.codec) {
        case Codec::kH264:
            return kH264;
        case Codec::kHevc:
            return kHevc;
        case Codec::kAac:
            return kAdtsAac;
        case Codec::kMp3:
            return track.low_rate_mp3 ? kMpeg2Audio : kMpeg1Audio;
        case Codec::kAc3:
            return kAc3;
        case Codec::kEac3:
            return kEac3;
        default:
            return kPrivateData;
    }
}

uint8_t* put_stream(uint8_t* p, const ProgramTrack& track, uint16_t pid) {
    if (track.codec == Codec::kNone) return p;
    *p++ = stream_type(track);
    p = base::put_u16(p, 0xe000u | pid);
    uint8_t* end = put_descriptors(p + 2, track);
    base::put_u16(p, 0xf000u | static_cast<uint32_t>(end - p - 2));
    return end;
}

// A section without its header and CRC.
constexpr size_t kSectionHeader = 8, kCrc = 4;
constexpr size_t kMaxMapSection = kMaxTablesSize - kPacketSize;

// What put_section() takes: room for the header, then the content.
struct Section {
    uint8_t bytes[kMaxMapSection];
    size_t size = kSectionHeader;

    uint8_t* content() { return bytes + kSectionHeader; }
    void end_at(const uint8_t* end) { size = static_cast<size_t>(end - bytes); }
};

size_t section_packets(size_t size) { return (1 + size + kCrc + kPayloadSize - 1) / kPayloadSize; }

// Fills in the header and the CRC, and writes the packets.
uint8_t* put_section(uint8_t* out, Section& section, uint8_t table, uint16_t id, uint8_t version, uint16_t pid,
                     uint8_t cc) {
    uint8_t* p = section.bytes;
    *p++ = table;
    p = base::put_u16(p, 0xb000u | static_cast<uint32_t>(section.size + kCrc - 3));
    p = base::put_u16(p, id);
    *p++ = static_cast<uint8_t>(0xc1 | version << 1);  // current_next_indicator
    base::put_u16(p, 0);                               // the only section
    base::put_u32(section.bytes + section.size, crc32({section.bytes, section.size}));
    size_t left = section.size + kCrc;
    const uint8_t* from = section.bytes;
    for (bool first = true; left > 0; first = false) {
        uint8_t* end = out + kPacketSize;
        out = put_packet_header(out, pid, first, false, true, cc++);
        if (first) *out++ = 0;  // pointer_field: the section begins immediately
        const size_t take = std::min(left, static_cast<size_t>(end - out));
        std::memcpy(out, from, take);
        std::memset(out + take, 0xff, static_cast<size_t>(end - out) - take);
        from += take;
        left -= take;
        out = end;
    }
    return out;
}

Section map_section(const Program& program) {
    Section section;
    uint8_t* p = base::put_u16(section.content(), 0xe000u | program.pcr_pid());
    p = base::put_u16(p, 0xf000u);  // no program descriptors
    for (uint8_t i = 0; i < media::kMaxTracks; ++i) p = put_stream(p, program.video[i], pid_of(media::Kind::kVideo, i));
    for (uint8_t i = 0; i < media::kMaxTracks; ++i) p = put_stream(p, program.audio[i], pid_of(media::Kind::kAudio, i));
    section.end_at(p);
    return section;
}

}  // namespace

bool carries(Codec codec) {
    switch (codec) {
        case Codec::kH264:
        case Codec::kHevc:
        case Codec::kAac:
        case Codec::kMp3:
        case Codec::kOpus:
        case Codec::kAc3:
        case Codec::kEac3:
            return true;
        default:
            return false;
    }
}

bool Program::has_video() const {
    return std::ranges::any_of(video, [](const ProgramTrack& track) { return track.codec != Codec::kNone; });
}

uint16_t Program::pcr_pid() const {
    for (uint8_t i = 0; i < media::kMaxTracks; ++i)
        if (video[i].codec != Codec::kNone) return pid_of(media::Kind::kVideo, i);
    for (uint8_t i = 0; i < media::kMaxTracks; ++i)
        if (audio[i].codec != Codec::kNone) return pid_of(media::Kind::kAudio, i);
    return kNullPid;
}

size_t map_packets(const Program& program) { return section_packets(map_section(program).size); }

uint8_t* put_tables(uint8_t* out, const Program& program, uint8_t version, uint8_t pat_cc, uint8_t pmt_cc) {
    Section association;
    uint8_t* p = base::put_u16(association.content(), kProgramNumber);
    association.end_at(base::put_u16(p, 0xe000u | kPmtPid));
    out = put_section(out, association, kPatTable, kTransportStreamId, 0, kPatPid, pat_cc);
    Section map = map_section(program);
    return put_section(out, map, kPmtTable, kProgramNumber, version, kPmtPid, pmt_cc);
}

}  // namespace ts
