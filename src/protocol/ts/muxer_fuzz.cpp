// Frames of arbitrary bytes, as a publisher may send them: the output has the announced size, consists of whole
// packets, and the demuxer finds no errors in it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/segment_muxer.h"

namespace {

using media::Codec;

struct Check final : ts::PacketSink, ts::DemuxerSink {
    ts::Demuxer demuxer{*this};
    void write(std::span<const uint8_t> packets) override {
        CHECK(packets.size() % ts::kPacketSize == 0 && !packets.empty());
        demuxer.feed(packets);
    }
    void on_pes(ts::PesPacket packet) override { CHECK(!packet.damaged && packet.dts && !packet.payload.empty()); }
};

constexpr Codec kCodecs[] = {Codec::kH264, Codec::kHevc, Codec::kAac,  Codec::kMp3, Codec::kOpus,
                             Codec::kAc3,  Codec::kAv1,  Codec::kFlac, Codec::kVp8, Codec::kEac3};

// Kind and flags, codec, time, size, payload.
media::Frame next_frame(base::ByteReader& r) {
    media::Frame frame;
    uint8_t flags = r.u8();
    frame.codec = kCodecs[r.u8() % std::size(kCodecs)];
    frame.kind = media::codec_info(frame.codec).kind;
    frame.sequence_header = flags & 1;
    frame.keyframe = flags & 2 && frame.kind == media::Kind::kVideo;
    frame.dts = media::from_ms(static_cast<int16_t>(r.u16()) * (flags & 4 ? 1000 : 1));
    frame.cts = media::from_ms(static_cast<int8_t>(r.u8()));
    size_t size = flags & 8 ? r.u16() : r.u8();
    frame.payload = base::Slice::copy(r.bytes(std::min(size, r.left())));
    return frame;
}

void check_sizes(ts::Muxer& muxer, const media::Frame& frame) {
    if (frame.sequence_header) return void(muxer.set_header(frame).has_value());
    std::vector<uint8_t> out(muxer.prepare(frame));
    CHECK(muxer.prepare(frame) == out.size());
    if (!out.empty()) CHECK(muxer.write(out.data()) == out.data() + out.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader r({data, size});
    ts::Muxer muxer({.tables_at_keyframes = true, .tables_every = media::from_ms(500)});
    ts::SegmentMuxer segments;
    Check check;
    while (r.left() > 0) {
        media::Frame frame = next_frame(r);
        check_sizes(muxer, frame);
        if (frame.keyframe) segments.begin_segment();
        (void)segments.write(frame, check).has_value();
    }
    segments.flush(check);
    check.demuxer.finish();
    const ts::DemuxerCounters& counters = check.demuxer.counters();
    CHECK(counters.continuity_errors + counters.duplicates + counters.skipped_bytes + counters.bad_pes == 0);
    CHECK(counters.bad_tables + counters.flagged == 0);
    return 0;
}
