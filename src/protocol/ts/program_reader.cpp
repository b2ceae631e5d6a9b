#include "protocol/ts/program_reader.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "protocol/ts/program.h"

namespace ts {
namespace {

using base::ByteReader;
using media::Codec;

// For private data the codec is given by a descriptor.
void read_descriptors(std::span<const uint8_t> descriptors, ElementaryStream& stream) {
    ByteReader r(descriptors);
    while (r.left() >= 2) {
        uint8_t tag = r.u8();
        auto body = r.bytes(r.u8());
        if (!r.ok()) return;
        std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
        if (tag == kIso639Language && text.size() >= 3) stream.language = media::language_of(text.substr(0, 3));
        // Other codes than 1 to 8 are two mono channels (0), or layouts that are not read.
        if (tag == kExtension && body.size() >= 2 && body[0] == kOpusExtension && body[1] >= 1 && body[1] <= 8)
            stream.opus_channels = body[1];
        if (stream.stream_type != kPrivateData) continue;
        if (tag == kRegistration && text.starts_with("Opus")) stream.codec = Codec::kOpus;
        if (tag == kRegistration && text.starts_with("HEVC")) stream.codec = Codec::kHevc;
        if (tag == kRegistration && (text.starts_with("AV01") || text.starts_with("AV1 "))) stream.codec = Codec::kAv1;
        if (tag == kDvbAc3 || (tag == kRegistration && text.starts_with("AC-3"))) stream.codec = Codec::kAc3;
        if (tag == kDvbEac3 || (tag == kRegistration && text.starts_with("EAC3"))) stream.codec = Codec::kEac3;
    }
}

Codec codec_of(uint8_t stream_type) {
    switch (stream_type) {
        case kH264:
            return Codec::kH264;
        case kHevc:
            return Codec::kHevc;
        case kAdtsAac:
            return Codec::kAac;
        case kMpeg1Audio:
        case kMpeg2Audio:
            return Codec::kMp3;
        case kAc3:
            return Codec::kAc3;
        case kEac3:
            return Codec::kEac3;
        default:
            return Codec::kNone;
    }
}

// Numbers the streams of a map in their order.
class TrackCounter {
  public:
    // False: there are enough tracks of its kind.
    bool number(ElementaryStream& stream) {
        if (stream.codec == Codec::kNone) return true;
        uint8_t& tracks = media::codec_info(stream.codec).kind == media::Kind::kVideo ? video_ : audio_;
        if (tracks == media::kMaxTracks) return false;
        stream.track = tracks++;
        return true;
    }

  private:
    uint8_t video_ = 0, audio_ = 0;
};

bool has_pid(const ProgramMap& map, uint16_t pid) {
    return std::ranges::any_of(map.streams, [&](const ElementaryStream& stream) { return stream.pid == pid; });
}

}  // namespace

std::optional<std::vector<AssociatedProgram>> read_association(std::span<const uint8_t> section, size_t most) {
    if (section.size() < 12 || !(section[5] & 1)) return std::nullopt;
    ByteReader r(section.subspan(8, section.size() - 12));
    std::vector<AssociatedProgram> programs;
    while (r.left() >= 4 && programs.size() < most) {
        const uint16_t number = r.u16();
        const uint16_t pid = r.u16() & 0x1fff;
        // Program number 0 is the network PID.
        if (number != 0 && pid != kPatPid && pid != kNullPid) programs.push_back({number, pid});
    }
    if (programs.empty()) return std::nullopt;
    return programs;
}

std::optional<ProgramMap> read_program_map(std::span<const uint8_t> section, size_t most) {
    if (section.size() < 16 || !(section[5] & 1)) return std::nullopt;
    ByteReader r(section.first(section.size() - 4));
    r.skip(3);
    ProgramMap map;
    map.number = r.u16();
    map.version = r.u8() >> 1 & 31;
    r.skip(2);
    map.pcr_pid = r.u16() & 0x1fff;
    r.skip(r.u16() & 0x0fff);
    TrackCounter tracks;
    size_t unknown = 0;
    while (r.ok() && r.left() >= 5) {
        ElementaryStream stream;
        stream.stream_type = r.u8();
        stream.pid = r.u16() & 0x1fff;
        stream.codec = codec_of(stream.stream_type);
        auto descriptors = r.bytes(r.u16() & 0x0fff);
        read_descriptors(descriptors, stream);
        if (media::codec_info(stream.codec).kind != media::Kind::kAudio) stream.language = {};
        if (stream.pid == kPatPid || stream.pid == kNullPid) continue;
        if (stream.codec == Codec::kNone && ++unknown > most / 2) continue;
        if (map.streams.size() == most || has_pid(map, stream.pid) || !tracks.number(stream))
            ++map.skipped;
        else
            map.streams.push_back(stream);
    }
    if (!r.ok()) return std::nullopt;
    return map;
}

}  // namespace ts
