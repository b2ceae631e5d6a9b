#include "protocol/ts/program.h"

#include <cstring>
#include <string_view>

#include "base/result.h"
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

uint8_t* put_descriptors(uint8_t* p, Codec codec, const Program& program) {
    if (codec == Codec::kHevc) return put_registration(p, "HEVC");
    if (codec == Codec::kAc3) return put_registration(p, "AC-3");
    if (codec == Codec::kEac3) return put_registration(p, "EAC3");
    if (codec != Codec::kOpus) return p;
    p = put_registration(p, "Opus");
    *p++ = kExtension;
    *p++ = 2;
    *p++ = kOpusExtension;
    *p++ = program.opus_channels;
    return p;
}

uint8_t stream_type(Codec codec, const Program& program) {
    switch (codec) {
        case Codec::kH264:
            return kH264;
        case Codec::kHevc:
            return kHevc;
        case Codec::kAac:
            return kAdtsAac;
        case Codec::kMp3:
            return program.low_rate_mp3 ? kMpeg2Audio : kMpeg1Audio;
        case Codec::kAc3:
            return kAc3;
        case Codec::kEac3:
            return kEac3;
        default:
            return kPrivateData;
    }
}

uint8_t* put_stream(uint8_t* p, Codec codec, uint16_t pid, const Program& program) {
    if (codec == Codec::kNone) return p;
    *p++ = stream_type(codec, program);
    p = base::put_u16(p, 0xe000u | pid);
    uint8_t* end = put_descriptors(p + 2, codec, program);
    base::put_u16(p, 0xf000u | static_cast<uint32_t>(end - p - 2));
    return end;
}

// Writes the section's start up to last_section_number; the length is filled in at the end.
uint8_t* put_section_header(uint8_t* p, uint8_t table, uint16_t id, uint8_t version) {
    *p++ = table;
    p += 2;
    p = base::put_u16(p, id);
    *p++ = static_cast<uint8_t>(0xc1 | version << 1);  // current_next_indicator
    return base::put_u16(p, 0);
}

void finish_section(uint8_t* section, uint8_t* end, uint8_t* packet_end) {
    auto length = static_cast<uint32_t>(end + 4 - (section + 3));
    base::put_u16(section + 1, 0xb000u | length);
    end = base::put_u32(end, crc32({section, end}));
    CHECK(end <= packet_end);
    std::memset(end, 0xff, static_cast<size_t>(packet_end - end));
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

uint8_t* put_tables(uint8_t* out, const Program& program, uint8_t version, uint8_t cc) {
    uint8_t* p = put_packet_header(out, kPatPid, true, false, true, cc);
    *p++ = 0;  // pointer_field: the section begins immediately
    uint8_t* section = p;
    p = put_section_header(p, kPatTable, kTransportStreamId, 0);
    p = base::put_u16(p, kProgramNumber);
    p = base::put_u16(p, 0xe000u | kPmtPid);
    out += kPacketSize;
    finish_section(section, p, out);

    p = put_packet_header(out, kPmtPid, true, false, true, cc);
    *p++ = 0;
    section = p;
    p = put_section_header(p, kPmtTable, kProgramNumber, version);
    p = base::put_u16(p, 0xe000u | program.pcr_pid());
    p = base::put_u16(p, 0xf000u);  // no program descriptors
    p = put_stream(p, program.video, kVideoPid, program);
    p = put_stream(p, program.audio, kAudioPid, program);
    out += kPacketSize;
    finish_section(section, p, out);
    return out;
}

}  // namespace ts
