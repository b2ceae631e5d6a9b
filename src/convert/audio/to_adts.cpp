#include "convert/audio/to_adts.h"

#include <cstring>

namespace convert {

void AdtsEncoder::set_tracks(const media::TrackSet& tracks) {
    config_.reset();
    const media::Track* track = tracks.first_audio(media::Codec::kAac);
    index_ = track ? track->index : 0;
    if (!track || !track->config()) return;
    if (auto config = media::parse_aac_config(track->config()->payload)) config_ = *config;
}

size_t AdtsEncoder::encoded_size(const media::Frame& frame) {
    if (frame.codec != media::Codec::kAac || frame.sequence_header || frame.track != index_ || !config_) return 0;
    if (frame.payload.empty() || frame.payload.size() > media::kMaxAdtsFrame - media::kAdtsHeaderSize) return 0;
    return media::kAdtsHeaderSize + frame.payload.size();
}

void AdtsEncoder::encode(const media::Frame& frame, uint8_t* out) {
    CHECK(media::put_adts_header(*config_, frame.payload.size(), out));
    std::memcpy(out + media::kAdtsHeaderSize, frame.payload.data(), frame.payload.size());
}

void Mp3Encoder::set_tracks(const media::TrackSet& tracks) {
    const media::Track* track = tracks.first_audio(media::Codec::kMp3);
    index_ = track ? track->index : 0;
}

size_t Mp3Encoder::encoded_size(const media::Frame& frame) {
    if (frame.codec != media::Codec::kMp3 || frame.sequence_header || frame.track != index_) return 0;
    return frame.payload.size();
}

void Mp3Encoder::encode(const media::Frame& frame, uint8_t* out) {
    std::memcpy(out, frame.payload.data(), frame.payload.size());
}

}  // namespace convert
