// A transport stream fed at once and in pieces: the frames and the counters must be the same.
#include <cstddef>
#include <cstdint>

#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"

namespace {

struct Frames final : ts::DemuxerSink {
    std::vector<media::Frame> frames;
    std::vector<int64_t> clocks;
    ts::FrameReader reader{[this](media::Frame frame) { frames.push_back(std::move(frame)); }};
    void on_pes(ts::PesPacket packet) override { reader.take(packet); }
    void on_clock(int64_t ticks, bool) override { clocks.push_back(ticks); }
};

constexpr size_t kMaxPes = 4096;

ts::DemuxerCounters read(std::span<const uint8_t> bytes, size_t step, Frames& out) {
    ts::Demuxer demuxer(out, kMaxPes);
    for (size_t at = 0; at < bytes.size(); at += step)
        demuxer.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
    demuxer.finish();
    return demuxer.counters();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    Frames whole, pieces;
    auto first = read(bytes, bytes.size(), whole), second = read(bytes, data[0] + 1u, pieces);
    CHECK(first.packets == second.packets && first.skipped_bytes == second.skipped_bytes);
    CHECK(first.continuity_errors == second.continuity_errors && first.bad_tables == second.bad_tables);
    CHECK(first.skipped_streams == second.skipped_streams);
    CHECK(whole.clocks == pieces.clocks);
    CHECK(whole.frames.size() == pieces.frames.size());
    for (size_t i = 0; i < whole.frames.size(); ++i) {
        CHECK(whole.frames[i].codec == pieces.frames[i].codec && whole.frames[i].dts == pieces.frames[i].dts);
        CHECK(whole.frames[i].kind == pieces.frames[i].kind && whole.frames[i].track == pieces.frames[i].track);
        CHECK(whole.frames[i].track < media::kMaxTracks);
        CHECK(whole.frames[i].payload == pieces.frames[i].payload);
        CHECK(whole.frames[i].payload.size() <= 8 * kMaxPes);
    }
    return 0;
}
