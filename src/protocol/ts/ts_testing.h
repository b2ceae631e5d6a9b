#pragma once
// For the tests of MPEG-TS: frames, and a sink for packets.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hex_testing.h"
#include "media/aac.h"
#include "media/frame.h"
#include "media/h264.h"
#include "protocol/ts/segment_muxer.h"

namespace ts::testing {

inline media::Frame frame(media::Codec codec, base::Slice payload, int64_t dts = 0) {
    media::Frame frame;
    frame.codec = codec;
    frame.kind = media::codec_info(codec).kind;
    frame.dts = media::from_ms(dts);
    frame.payload = std::move(payload);
    return frame;
}

inline media::Frame header(media::Codec codec, base::Slice payload) {
    media::Frame header = frame(codec, std::move(payload));
    header.sequence_header = true;
    return header;
}

inline const std::vector<uint8_t>& sps() {
    static const auto bytes = base::hex("67 42 c0 1e d9 00 a0 47 fe c8");
    return bytes;
}
inline const std::vector<uint8_t>& pps() {
    static const auto bytes = base::hex("68 cb 83 cb 20");
    return bytes;
}
inline media::Frame avc_header() { return header(media::Codec::kH264, media::make_avc_config(sps(), pps()).value()); }
inline media::Frame aac_header() { return header(media::Codec::kAac, media::make_aac_config(2, 44100, 2)); }

// One length-prefixed NAL unit of that many bytes, filled without start codes.
inline media::Frame video_frame(int64_t dts, bool keyframe, size_t unit_bytes, int32_t cts = 0) {
    std::vector<uint8_t> payload(unit_bytes + 4);
    base::put_u32(payload.data(), static_cast<uint32_t>(unit_bytes));
    for (size_t i = 0; i < unit_bytes; ++i) payload[4 + i] = static_cast<uint8_t>(i % 251 + 4);
    if (unit_bytes > 0) payload[4] = keyframe ? 0x65 : 0x41;
    media::Frame video = frame(media::Codec::kH264, base::Slice::copy(payload), dts);
    video.keyframe = keyframe;
    video.cts = media::from_ms(cts);
    return video;
}

inline media::Frame audio_frame(int64_t dts, size_t bytes, media::Codec codec = media::Codec::kAac) {
    std::vector<uint8_t> payload(bytes);
    for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<uint8_t>(i * 7);
    return frame(codec, base::Slice::copy(payload), dts);
}

// The same frame on another track.
inline media::Frame on_track(uint8_t index, media::Frame frame) {
    frame.track = index;
    return frame;
}

// A track as the stream's header, or a codec without one, tells of it.
inline media::Track track(const media::Frame& header, std::string language = "") {
    return {header.kind, header.track, header.codec, header, std::move(language)};
}
inline media::Track track(media::Codec codec, uint8_t index = 0, std::string language = "") {
    return {media::codec_info(codec).kind, index, codec, std::nullopt, std::move(language)};
}

inline Program program(media::Codec video, media::Codec audio) {
    Program program;
    program.video[0].codec = video;
    program.audio[0].codec = audio;
    return program;
}

// Stores the packets it receives; checks that they are whole.
struct PacketCollector final : PacketSink {
    std::vector<uint8_t> bytes;
    void write(std::span<const uint8_t> packets) override {
        EXPECT_EQ(packets.size() % kPacketSize, 0u);
        bytes.insert(bytes.end(), packets.begin(), packets.end());
    }
};

}  // namespace ts::testing
