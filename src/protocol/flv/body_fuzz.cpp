// Consecutive bodies of a connection: each is a type byte, two bytes of size, and the body. A body that parses must be
// unchanged after writing and parsing again.
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "protocol/flv/body.h"
#include "protocol/flv/enhanced.h"
#include "protocol/flv/metadata.h"
#include "protocol/flv/writer.h"

namespace {

void round_trip(const media::Frame& frame, flv::BodyParser parser, uint8_t type) {
    uint8_t header[flv::kMaxBodyHeader];
    size_t size = flv::put_body_header(frame, header);
    CHECK(size <= sizeof header);
    base::SliceBuilder out;
    out.append(std::span<const uint8_t>(header, size));
    out.append(frame.payload);
    auto again = parser.parse(type == 15 ? 18 : type, out.freeze(), static_cast<uint32_t>(media::to_ms(frame.dts)));
    CHECK(again && again->frame && again->frame->track == frame.track);
    CHECK(again->frame->payload == frame.payload && again->frame->codec == frame.codec);
    CHECK(again->frame->keyframe == frame.keyframe && again->frame->sequence_header == frame.sequence_header);
}

// A multitrack body, or one whose packet type comes later.
bool may_have_ids(uint8_t type, const base::Slice& body) {
    const uint8_t packet_type = body[0] & 15;
    if (type == 9) return (body[0] & 0x80) && packet_type >= flv::kVideoMultitrack;
    return type == 8 && body[0] >> 4 == flv::kExAudio && packet_type >= flv::kAudioMultitrack;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr uint8_t kTypes[] = {8, 9, 18, 15};
    base::ByteReader reader({data, size});
    flv::BodyParser parser;
    for (int i = 0; i < 16 && reader.left() > 0; ++i) {
        uint8_t type = kTypes[reader.u8() & 3];
        size_t want = reader.u16();
        base::Slice body = base::Slice::copy(reader.bytes(std::min(want, reader.left())));
        auto parsed = parser.parse(type, body, i * 40);
        if (!parsed) {
            CHECK(!parsed.error().text().empty());
            continue;
        }
        CHECK(parsed->frame.has_value() != !parsed->nothing.empty());
        if (!parsed->frame) continue;
        CHECK(parsed->more.size() < media::kMaxTracks * 2);
        for (const media::Frame& frame : parsed->more) {
            CHECK(frame.track < media::kMaxTracks && !frame.payload.empty());
            if (frame.track != 0) round_trip(frame, parser, type);
        }
        // The first frame of a body with track ids may be of a track that stands in for track 0: written as track 0, it
        // is that.
        if (parsed->frame->track != 0 || !may_have_ids(type, body)) round_trip(*parsed->frame, parser, type);
        if (flv::is_metadata(*parsed->frame)) CHECK(flv::read_metadata(parsed->frame->payload));
    }
    return 0;
}
