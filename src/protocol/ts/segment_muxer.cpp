#include "protocol/ts/segment_muxer.h"

#include <algorithm>

namespace ts {
namespace {

// Fits in the L1 cache, and holds most frames completely.
constexpr size_t kScratch = 80 * kPacketSize;
// Limit in bytes of the audio held back, for each track.
constexpr size_t kMaxWaiting = 16 * 1024;
// The longest wait where the PCR is in audio packets.
constexpr media::Time kMaxAlone = std::chrono::milliseconds(90);

}  // namespace

SegmentMuxer::SegmentMuxer(SegmentMuxerOptions options) : options_(options), muxer_({.delay = options.delay}) {}

void SegmentMuxer::set_tracks(std::span<const media::Track> tracks) {
    waiting_.clear();
    muxer_.set_tracks(tracks);
}

base::Result<void> SegmentMuxer::write(const media::Frame& frame, PacketSink& sink) {
    if (frame.sequence_header) {
        if (frame.kind == media::Kind::kAudio) flush_track(frame.track, sink);
        return muxer_.set_header(frame);
    }
    for (uint8_t track = 0; track < waiting_.size(); ++track)
        if (due(track, frame)) flush_track(track, sink);
    if (frame.kind == media::Kind::kAudio && wait(frame)) return {};
    put_out(muxer_.prepare(frame), sink);
    return {};
}

void SegmentMuxer::flush(PacketSink& sink) {
    for (uint8_t track = 0; track < waiting_.size(); ++track) flush_track(track, sink);
}

void SegmentMuxer::flush_track(uint8_t track, PacketSink& sink) {
    if (track >= waiting_.size() || waiting_[track].bytes.empty()) return;
    Waiting& waiting = waiting_[track];
    put_out(muxer_.prepare_audio(track, waiting.bytes, waiting.dts), sink);
    waiting.bytes.clear();
}

// Whether the track's audio held back must be written before this frame.
bool SegmentMuxer::due(uint8_t track, const media::Frame& frame) const {
    const Waiting& waiting = waiting_[track];
    if (waiting.bytes.empty()) return false;
    media::Time limit = options_.audio_pes;
    if (!muxer_.has_video()) limit = std::min(limit, kMaxAlone);
    const media::Time age = frame.dts - waiting.dts;
    if (age >= limit || age < -limit) return true;
    if (frame.kind != media::Kind::kAudio || frame.track != track) return false;
    return frame.codec != muxer_.program().audio[track].codec ||
           waiting.bytes.size() + frame.payload.size() + AudioElementary::kMaxHeader > kMaxWaiting;
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
    if (frame.track >= waiting_.size()) waiting_.resize(frame.track + 1u);
    Waiting& waiting = waiting_[frame.track];
    if (waiting.bytes.empty()) waiting.dts = frame.dts;
    waiting.bytes.insert(waiting.bytes.end(), header, header + *size);
    waiting.bytes.insert(waiting.bytes.end(), frame.payload.begin(), frame.payload.end());
    return true;
}

void SegmentMuxer::put_out(size_t prepared, PacketSink& sink) {
    if (prepared == 0) return;
    // One buffer for all muxers of a thread: a sink does not yield.
    thread_local uint8_t scratch[kScratch];
    while (size_t bytes = muxer_.write_some(scratch)) sink.write({scratch, bytes});
}

}  // namespace ts
