#include "protocol/ts/segment_muxer.h"

#include <algorithm>

namespace ts {
namespace {

// Fits in the L1 cache, and holds most frames completely.
constexpr size_t kScratch = 80 * kPacketSize;
// Limit in bytes of the audio held back.
constexpr size_t kMaxWaiting = 16 * 1024;
constexpr media::Time kMaxAlone = std::chrono::milliseconds(90);

}  // namespace

SegmentMuxer::SegmentMuxer(SegmentMuxerOptions options) : options_(options), muxer_({.delay = options.delay}) {}

base::Result<void> SegmentMuxer::write(const media::Frame& frame, PacketSink& sink) {
    if (frame.sequence_header) {
        if (frame.kind == media::Kind::kAudio) flush(sink);
        return muxer_.set_header(frame);
    }
    if (due(frame)) flush(sink);
    if (frame.kind == media::Kind::kAudio && wait(frame)) return {};
    put_out(muxer_.prepare(frame), sink);
    return {};
}

void SegmentMuxer::flush(PacketSink& sink) {
    if (waiting_.empty()) return;
    put_out(muxer_.prepare_audio(waiting_, waiting_dts_), sink);
    waiting_.clear();
}

// Whether the audio held back must be written before this frame.
bool SegmentMuxer::due(const media::Frame& frame) const {
    if (waiting_.empty()) return false;
    media::Time limit = options_.audio_pes;
    if (muxer_.program().video == media::Codec::kNone) limit = std::min(limit, kMaxAlone);
    const media::Time age = frame.dts - waiting_dts_;
    if (age >= limit || age < -limit) return true;
    if (frame.kind != media::Kind::kAudio) return false;
    return frame.codec != muxer_.program().audio ||
           waiting_.size() + frame.payload.size() + AudioElementary::kMaxHeader > kMaxWaiting;
}

// False: the frame is to be written by itself.
bool SegmentMuxer::wait(const media::Frame& frame) {
    // Opus and AC-3 players expect one access unit per PES packet.
    bool joins = frame.codec == media::Codec::kAac || frame.codec == media::Codec::kMp3;
    if (!joins || options_.audio_pes == media::Time(0) ||
        frame.payload.size() + AudioElementary::kMaxHeader > kMaxWaiting)
        return false;
    uint8_t header[AudioElementary::kMaxHeader];
    auto size = muxer_.put_audio_header(frame, header);
    if (!size) return false;
    if (waiting_.empty()) waiting_dts_ = frame.dts;
    waiting_.insert(waiting_.end(), header, header + *size);
    waiting_.insert(waiting_.end(), frame.payload.begin(), frame.payload.end());
    return true;
}

void SegmentMuxer::put_out(size_t prepared, PacketSink& sink) {
    if (prepared == 0) return;
    // One buffer for all muxers of a thread: a sink does not yield.
    thread_local uint8_t scratch[kScratch];
    while (size_t bytes = muxer_.write_some(scratch)) sink.write({scratch, bytes});
}

}  // namespace ts
