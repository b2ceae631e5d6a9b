#pragma once
// For the fuzz targets of the depacketizers. The input is a sequence of packets: a byte of flags (1 marker, 2 after a
// gap, 4 the next timestamp), two bytes of length, the payload. The output must satisfy the contract of depacketizer.h,
// and frames that are packetized and depacketized again must be unchanged.

#include <algorithm>

#include "base/bytes.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/payload/packetize_testing.h"

namespace rtp::testing {

inline std::vector<Unit> take_packets(Depacketizer& depacketizer, media::Codec codec, std::span<const uint8_t> bytes) {
    base::ByteReader r(bytes);
    std::vector<Unit> units;
    uint32_t timestamp = 0;
    while (r.left() > 0) {
        uint8_t flags = r.u8();
        auto payload = r.bytes(std::min<size_t>(r.u16(), r.left()));
        if (flags & 4) timestamp += 3000;
        is_keyframe(codec, payload);
        depacketizer.push({payload, timestamp, (flags & 1) != 0, (flags & 2) != 0}, units);
    }
    return units;
}

inline void cut_and_join(media::Codec codec, const std::vector<Unit>& units) {
    auto packetizer = make_packetizer(codec, {.max_payload = 100, .merge_nalus = true});
    auto depacketizer = make_depacketizer({.codec = codec});
    bool any_header = false;
    for (const Unit& unit : units) {
        if (unit.frame.sequence_header) {
            any_header = true;
            CHECK(packetizer->set_header(unit.frame));
            continue;
        }
        std::vector<Payload> payloads;
        bool cut = packetize(*packetizer, unit.frame, payloads).has_value();
        CHECK(cut || media::codec_info(codec).kind == media::Kind::kAudio);
        std::vector<Unit> back;
        for (const Payload& p : payloads) {
            CHECK(p.bytes.size() <= 100 && p.bytes.size() > 0);
            depacketizer->push({p.bytes, unit.timestamp + p.timestamp_offset, p.marker, false}, back);
        }
        if (codec == media::Codec::kAv1 || codec == media::Codec::kVp8 || codec == media::Codec::kVp9)
            CHECK(!back.empty() && back.back().frame.payload == unit.frame.payload);
        for (const Unit& again : back)
            if (!again.frame.sequence_header) CHECK(again.frame.payload.size() <= unit.frame.payload.size() + 8);
    }
    CHECK(any_header || units.empty() || !media::codec_info(codec).has_sequence_header);
}

inline int fuzz_depacketizer(const PayloadFormat& format, const uint8_t* data, size_t size) {
    auto depacketizer = make_depacketizer(format);
    auto units = take_packets(*depacketizer, format.codec, std::span(data, size));
    for (const Unit& unit : units) {
        CHECK(unit.frame.codec == format.codec && !unit.frame.payload.empty());
        CHECK(unit.frame.payload.size() <= Depacketizer::kMaxUnit + 64 * 1024);
    }
    cut_and_join(format.codec, units);
    return 0;
}

inline int fuzz_depacketizer(media::Codec codec, const uint8_t* data, size_t size) {
    PayloadFormat format;
    format.codec = codec;
    format.channels = 2;
    return fuzz_depacketizer(format, data, size);
}

}  // namespace rtp::testing
