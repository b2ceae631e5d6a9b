#pragma once
// For tests: frames and headers of every codec that MP4 supports.

#include <string>

#include "base/hex_testing.h"
#include "media/frame.h"
#include "media/h265.h"

namespace mp4 {

inline media::Frame frame_of(media::Codec codec, std::span<const uint8_t> payload, int64_t dts = 0, int32_t cts = 0,
                             bool key = false) {
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.keyframe = key;
    frame.dts = media::from_ms(dts);
    frame.cts = media::from_ms(cts);
    frame.payload = base::Slice::copy(payload);
    return frame;
}

// A payload of that many bytes, each `fill`.
inline media::Frame frame_of(media::Codec codec, size_t size, uint8_t fill, int64_t dts, int32_t cts = 0,
                             bool key = false) {
    return frame_of(codec, std::vector<uint8_t>(size, fill), dts, cts, key);
}

inline media::Frame header_of(media::Codec codec, const char* text) {
    media::Frame frame = frame_of(codec, base::hex(text));
    frame.sequence_header = true;
    return frame;
}

// The frame or header of another track of its kind.
inline media::Frame on_track(uint8_t index, media::Frame frame) {
    frame.track = index;
    return frame;
}

// From x264, High, 768x320.
inline media::Frame h264_header() {
    return header_of(media::Codec::kH264,
                     "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c");
}
// From x265, Main, 768x320; the arrays are not marked as complete.
inline media::Frame hevc_header() {
    auto vps = base::hex("40010c01ffff01600000030090000003000003003f959809");
    auto sps = base::hex("42010101600000030090000003000003003fa00602014165959a4932bc05a708000003000800000300c840");
    auto pps = base::hex("4401c172b46240");
    auto made = media::make_hevc_config(vps, sps, pps);
    std::vector<uint8_t> record(made->begin(), made->end());
    record[23] &= 0x7f;
    record[28 + vps.size()] &= 0x7f;
    record[33 + vps.size() + sps.size()] &= 0x7f;
    media::Frame frame = frame_of(media::Codec::kHevc, record);
    frame.sequence_header = true;
    return frame;
}
inline media::Frame av1_header() { return header_of(media::Codec::kAv1, "81000c000a0b0200000561e7f66017c002"); }
inline media::Frame aac_header(const char* config = "1210") { return header_of(media::Codec::kAac, config); }

}  // namespace mp4
