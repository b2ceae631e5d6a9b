// Frames of arbitrary bytes on several tracks, as a publisher may send them: the output has the announced size,
// consists of whole packets, and the demuxer finds no errors in it. The tables for a receiver that starts at a frame
// have the tracks of the muxer.
#include <algorithm>
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

// Flags (bits 4 to 6 are the track), codec, time, size, payload.
media::Frame next_frame(base::ByteReader& r) {
    media::Frame frame;
    uint8_t flags = r.u8();
    frame.codec = kCodecs[r.u8() % std::size(kCodecs)];
    frame.kind = media::codec_info(frame.codec).kind;
    frame.track = flags >> 4 & 7;
    frame.sequence_header = flags & 1;
    frame.keyframe = flags & 2 && frame.kind == media::Kind::kVideo;
    frame.dts = media::from_ms(static_cast<int16_t>(r.u16()) * (flags & 4 ? 1000 : 1));
    frame.cts = media::from_ms(static_cast<int8_t>(r.u8()));
    size_t size = flags & 8 ? r.u16() : r.u8();
    frame.payload = base::Slice::copy(r.bytes(std::min(size, r.left())));
    return frame;
}

// The tracks as a stream would know them: of each the last header, or the codec; a language of the payload's bytes.
struct Tracks {
    std::vector<media::Track> all;

    void update(const media::Frame& frame) {
        if (frame.kind == media::Kind::kData) return;
        auto same = [&](const media::Track& t) { return t.kind == frame.kind && t.index == frame.track; };
        auto at = std::ranges::find_if(all, same);
        if (at == all.end()) at = all.insert(at, {frame.kind, frame.track});
        at->codec = frame.codec;
        if (frame.sequence_header) at->header = frame;
        if (at->header && at->header->codec != frame.codec) at->header.reset();
        const size_t letters = std::min<size_t>(frame.payload.size(), 5);
        at->language.assign(frame.payload.begin(), frame.payload.begin() + letters);
    }
};

struct CountStreams final : ts::DemuxerSink {
    size_t streams = 0;
    void on_program(const ts::ProgramMap& map) override { streams = map.streams.size(); }
    void on_pes(ts::PesPacket) override {}
};

// The tables before a frame, right after set_tracks().
void check_tables(const Tracks& tracks, const ts::Muxer& muxer) {
    const ts::Program& program = muxer.program();
    uint8_t out[ts::kMaxTablesSize];
    const uint8_t* end = ts::Muxer::put_tables_at(tracks.all, muxer.start_point(), out);
    CHECK(static_cast<size_t>(end - out) == ts::tables_size(program));
    CountStreams counted;
    ts::Demuxer demuxer(counted);
    demuxer.feed({out, end});
    demuxer.finish();
    CHECK(demuxer.counters().bad_tables + demuxer.counters().continuity_errors == 0);
    auto in_map = [](const ts::ProgramTrack& track) { return track.codec != Codec::kNone; };
    const auto expected = std::ranges::count_if(program.video, in_map) + std::ranges::count_if(program.audio, in_map);
    CHECK(counted.streams == static_cast<size_t>(expected));
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
    Tracks tracks;
    while (r.left() > 0) {
        const bool anew = *r.position() & 0x80;
        media::Frame frame = next_frame(r);
        tracks.update(frame);
        if (anew) {
            muxer.set_tracks(tracks.all);
            segments.set_tracks(tracks.all);
            check_tables(tracks, muxer);
        }
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
