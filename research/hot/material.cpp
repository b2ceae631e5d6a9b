#include "hot/material.h"

#include <string>

#include "base/bytes.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/writer.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/messages.h"

namespace hot {
namespace {

constexpr int64_t kLengthMs = 2000, kVideoFrameMs = 40;
constexpr double kAudioMs = 1000.0 / 43;
constexpr size_t kKeyframe = 8000, kVideoFrame = 820, kAudio = 93;

// As librtmp and ffmpeg ask.
std::vector<amf::Value> connect_of_a_client() {
    auto object = amf::Value::object({{"app", "live"},
                                      {"type", "nonprivate"},
                                      {"flashVer", "FMLE/3.0 (compatible; Lavf59.27.100)"},
                                      {"tcUrl", "rtmp://127.0.0.1:1935/live"},
                                      {"fpad", false},
                                      {"capabilities", 15},
                                      {"audioCodecs", 4071},
                                      {"videoCodecs", 252},
                                      {"videoFunction", 1}});
    return {amf::Value("connect"), amf::Value(1), std::move(object)};
}

}  // namespace

Material::Material() : connect_values_(connect_of_a_client()) {
    double audio_at = 0;
    for (int64_t at = 0; at < kLengthMs; at += kVideoFrameMs) {
        add(media::Kind::kVideo, at, at == 0, at == 0 ? kKeyframe : kVideoFrame);
        for (; audio_at < static_cast<double>(at + kVideoFrameMs); audio_at += kAudioMs)
            add(media::Kind::kAudio, static_cast<int64_t>(audio_at), false, kAudio);
    }
    for (uint32_t chunk_size : {128u, 4096u}) {
        auto& wire = wires_[chunk_size];
        for (const media::Frame& frame : frames_) {
            bool video = frame.kind == media::Kind::kVideo;
            std::vector<uint8_t> body(flv::kMaxBodyHeader);
            body.resize(flv::put_body_header(frame, body.data()));
            body.insert(body.end(), frame.payload.begin(), frame.payload.end());
            rtmp::append_message(wire, video ? rtmp::kVideoChunkStream : rtmp::kAudioChunkStream,
                                 video ? rtmp::kVideo : rtmp::kAudio, 1, static_cast<uint32_t>(media::to_ms(frame.dts)),
                                 body, chunk_size);
        }
    }
    base::ByteWriter writer(connect_command_);
    for (const amf::Value& value : connect_values_) amf::encode_amf0(value, writer);
}

media::Frame Material::video_frame(int64_t dts, bool keyframe, size_t bytes) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = media::Codec::kH264;
    frame.keyframe = keyframe;
    frame.dts = media::from_ms(dts);
    std::vector<uint8_t> payload(bytes, 0x5a);
    base::put_u32(payload.data(), static_cast<uint32_t>(bytes - 4));
    payload[4] = keyframe ? 0x65 : 0x41;
    frame.payload = base::Slice::copy(payload);
    return frame;
}

void Material::add(media::Kind kind, int64_t dts, bool keyframe, size_t bytes) {
    if (kind == media::Kind::kVideo) return frames_.push_back(video_frame(dts, keyframe, bytes));
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kAac;
    frame.dts = media::from_ms(dts);
    frame.payload = base::Slice::copy(std::vector<uint8_t>(bytes, 0x5a));
    frames_.push_back(std::move(frame));
}

std::vector<uint8_t> Material::set_chunk_size(uint32_t size) {
    std::vector<uint8_t> out;
    rtmp::append_set_chunk_size(out, size);
    return out;
}

}  // namespace hot
