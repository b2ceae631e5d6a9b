#include "protocol/flv/writer.h"

#include <algorithm>

#include "base/bytes.h"
#include "protocol/flv/audio_format.h"
#include "protocol/flv/codec_ids.h"
#include "protocol/flv/enhanced.h"

namespace flv {

using media::Codec;
using media::Frame;

namespace {

uint32_t cts_bits(const Frame& frame) {
    if (frame.cts == media::Time(0)) return 0;
    // The difference of the rounded times: what a player adds up is the rounded time of presentation.
    const int64_t ms = media::to_ms(frame.pts()) - media::to_ms(frame.dts);
    return static_cast<uint32_t>(std::clamp<int64_t>(ms, -0x800000, 0x7fffff)) & 0xffffff;
}

uint8_t frame_type(const Frame& frame) {
    if (frame.keyframe || frame.sequence_header) return 1;
    return frame.disposable ? 3 : 2;
}

struct EnhancedPacket {
    uint8_t type;
    bool with_cts = false;  // H.264 and HEVC alone have a composition time here; a 0 is omitted
};

EnhancedPacket enhanced_packet(const Frame& frame) {
    if (frame.kind == media::Kind::kAudio) return {frame.sequence_header ? kAudioSequenceStart : kAudioCodedFrames};
    if (frame.sequence_header) return {kVideoSequenceStart};
    if (frame.codec != Codec::kHevc && frame.codec != Codec::kH264) return {kVideoCodedFrames};
    const bool with_cts = cts_bits(frame) != 0;
    return {with_cts ? kVideoCodedFrames : kVideoCodedFramesX, with_cts};
}

uint8_t* enhanced_video(const Frame& frame, uint32_t fourcc, uint8_t* p) {
    const EnhancedPacket packet = enhanced_packet(frame);
    *p++ = static_cast<uint8_t>(0x80 | frame_type(frame) << 4 | packet.type);
    p = base::put_u32(p, fourcc);
    return packet.with_cts ? base::put_u24(p, cts_bits(frame)) : p;
}

// A body with one track, which is not the first of its kind. Rare: it is kept out of the code for the others.
[[gnu::noinline, gnu::cold]] size_t multitrack_header(const Frame& frame, uint8_t out[kMaxBodyHeader]) {
    const EnhancedPacket packet = enhanced_packet(frame);
    uint8_t* p = out;
    if (frame.kind == media::Kind::kVideo)
        *p++ = static_cast<uint8_t>(0x80 | frame_type(frame) << 4 | kVideoMultitrack);
    else
        *p++ = static_cast<uint8_t>(kExAudio << 4 | kAudioMultitrack);
    *p++ = static_cast<uint8_t>(kOneTrack << 4 | packet.type);
    p = base::put_u32(p, codec_ids(frame.codec).fourcc);
    *p++ = frame.track;
    if (packet.with_cts) p = base::put_u24(p, cts_bits(frame));
    return static_cast<size_t>(p - out);
}

}  // namespace

size_t video_header(const Frame& frame, uint8_t out[kMaxBodyHeader]) {
    uint8_t* p = out;
    const CodecIds& ids = codec_ids(frame.codec);
    if (ids.fourcc && frame.codec != Codec::kH264) {
        p = enhanced_video(frame, ids.fourcc, p);
        return static_cast<size_t>(p - out);
    }
    *p++ = static_cast<uint8_t>(frame_type(frame) << 4 | (ids.id & 15));
    if (frame.codec == Codec::kH264) {
        *p++ = frame.sequence_header ? 0 : 1;
        p = base::put_u24(p, frame.sequence_header ? 0 : cts_bits(frame));
    }
    return static_cast<size_t>(p - out);
}

size_t audio_header(const Frame& frame, uint8_t out[kMaxBodyHeader]) {
    uint8_t* p = out;
    const CodecIds& ids = codec_ids(frame.codec);
    if (ids.id < 0) {
        *p++ = static_cast<uint8_t>(kExAudio << 4 | enhanced_packet(frame).type);
        p = base::put_u32(p, ids.fourcc);
        return static_cast<size_t>(p - out);
    }
    *p++ = audio_format(frame);
    if (frame.codec == Codec::kAac) *p++ = frame.sequence_header ? 0 : 1;
    return static_cast<size_t>(p - out);
}

size_t put_body_header(const Frame& frame, uint8_t out[kMaxBodyHeader]) {
    if (frame.track != 0) [[unlikely]]
        return multitrack_header(frame, out);
    if (frame.kind == media::Kind::kVideo) return video_header(frame, out);
    return frame.kind == media::Kind::kAudio ? audio_header(frame, out) : 0;
}

}  // namespace flv
