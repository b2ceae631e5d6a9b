#include "convert/audio/to_adts.h"

#include <cstring>

namespace convert {

void AdtsEncoder::set_headers(const live::StreamHeaders& headers) {
    config_.reset();
    if (!headers.audio || headers.audio->codec != media::Codec::kAac) return;
    if (auto config = media::parse_aac_config(headers.audio->payload)) config_ = *config;
}

size_t AdtsEncoder::encoded_size(const media::Frame& frame) {
    if (frame.codec != media::Codec::kAac || frame.sequence_header || !config_) return 0;
    if (frame.payload.empty() || frame.payload.size() > media::kMaxAdtsFrame - media::kAdtsHeaderSize) return 0;
    return media::kAdtsHeaderSize + frame.payload.size();
}

void AdtsEncoder::encode(const media::Frame& frame, uint8_t* out) {
    CHECK(media::put_adts_header(*config_, frame.payload.size(), out));
    std::memcpy(out + media::kAdtsHeaderSize, frame.payload.data(), frame.payload.size());
}

size_t Mp3Encoder::encoded_size(const media::Frame& frame) {
    return frame.codec == media::Codec::kMp3 && !frame.sequence_header ? frame.payload.size() : 0;
}

void Mp3Encoder::encode(const media::Frame& frame, uint8_t* out) {
    std::memcpy(out, frame.payload.data(), frame.payload.size());
}

}  // namespace convert
