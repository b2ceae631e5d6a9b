#include "protocol/ps/stream_map.h"

#include <algorithm>

#include "base/bytes.h"
#include "protocol/ps/packet.h"
#include "protocol/ts/program.h"

namespace ps {
namespace {

using media::Codec;

Codec codec_of(uint8_t stream_type) {
    switch (stream_type) {
        case ts::kH264:
            return Codec::kH264;
        case ts::kHevc:
            return Codec::kHevc;
        case ts::kAdtsAac:
            return Codec::kAac;
        case ts::kMpeg1Audio:
        case ts::kMpeg2Audio:
            return Codec::kMp3;
        case kPcmAlaw:
            return Codec::kPcmAlaw;
        case kPcmUlaw:
            return Codec::kPcmUlaw;
        default:
            return Codec::kNone;
    }
}

// Its stream_id is one of those that are for its kind.
bool fits(uint8_t stream_id, media::Kind kind) {
    return kind == media::Kind::kVideo ? is_video(stream_id) : is_audio(stream_id);
}

void add(ts::ProgramMap& map, uint8_t stream_type, uint8_t stream_id) {
    ts::ElementaryStream stream;
    stream.pid = stream_id;
    stream.stream_type = stream_type;
    stream.codec = codec_of(stream_type);
    if (stream.codec == Codec::kNone) return;
    size_t of_kind = 0;
    bool is_taken = false;
    for (const ts::ElementaryStream& other : map.streams) {
        of_kind += other.kind() == stream.kind();
        is_taken |= other.pid == stream.pid;
    }
    if (is_taken || of_kind == kMaxStreamsOfKind || !fits(stream_id, stream.kind())) return void(++map.skipped);
    stream.track = static_cast<uint8_t>(of_kind);
    map.streams.push_back(stream);
}

}  // namespace

std::optional<ts::ProgramMap> read_stream_map(std::span<const uint8_t> map) {
    constexpr size_t kFixed = 10, kChecksum = 4;
    if (map.size() < kFixed + 2 + kChecksum || !(map[6] & 0x80)) return std::nullopt;
    base::ByteReader in(map.subspan(kPrefixSize, map.size() - kPrefixSize - kChecksum));
    ts::ProgramMap program;
    program.number = 1;
    program.version = in.u8() & 0x1f;
    in.skip(1);
    in.skip(in.u16());
    base::ByteReader entries(in.bytes(in.u16()));
    if (!in.ok()) return std::nullopt;
    while (entries.left() > 0) {
        const uint8_t stream_type = entries.u8(), stream_id = entries.u8();
        entries.skip(entries.u16());
        if (!entries.ok()) return std::nullopt;
        add(program, stream_type, stream_id);
    }
    return program;
}

}  // namespace ps
