#pragma once
// For tests: NAL units and frames made of them, and payloads passed through a depacketizer.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/hex_testing.h"
#include "media/nalu.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetize_testing.h"

namespace rtp::testing {

using Bytes = std::vector<uint8_t>;
using base::hex;

// From x264, Constrained Baseline, 640x360.
inline Bytes h264_sps() { return hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"); }
inline Bytes h264_pps() { return hex("68c888cb20"); }

// A NAL unit of `size` bytes: the header's bytes, then the start of a slice, then a counting pattern.
inline Bytes nalu(std::initializer_list<uint8_t> header, size_t size) {
    Bytes out(header);
    while (out.size() < size) out.push_back(out.size() == header.size() ? 0x88 : static_cast<uint8_t>(out.size() * 7));
    return out;
}

inline media::Frame video_frame(media::Codec codec, bool keyframe, const std::vector<Bytes>& nalus) {
    base::SliceBuilder payload;
    for (const Bytes& unit : nalus) media::append_length_prefixed(payload, unit);
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.payload = payload.freeze();
    return frame;
}

inline media::Frame header_frame(media::Codec codec, base::Slice payload) {
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.sequence_header = true;
    frame.payload = std::move(payload);
    return frame;
}

// Passes the payloads of a frame to the depacketizer.
inline std::vector<Unit> take(Depacketizer& depacketizer, const std::vector<Payload>& payloads, uint32_t timestamp,
                              bool after_hole = false) {
    std::vector<Unit> out;
    for (const Payload& p : payloads) {
        depacketizer.push({p.bytes, timestamp + p.timestamp_offset, p.marker, after_hole}, out);
        after_hole = false;
    }
    return out;
}

// What a payload alone gives, with the units that it completes.
inline std::vector<Unit> push(Depacketizer& depacketizer, const Bytes& payload, uint32_t timestamp, bool marker = true,
                              bool after_hole = false) {
    std::vector<Unit> out;
    depacketizer.push({payload, timestamp, marker, after_hole}, out);
    return out;
}

}  // namespace rtp::testing
