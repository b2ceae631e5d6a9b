#pragma once
// Live audio without video: AAC as ADTS (ISO/IEC 14496-3, 1.A.2.2), and MP3 unchanged; of the first track that has the
// codec. Other tracks are left out.

#include <optional>

#include "live/fanout/wire_encoder.h"
#include "media/aac.h"

namespace convert {

class AdtsEncoder final : public live::WireEncoder {
  public:
    void encode_prefix(const media::TrackSet&, media::Time, bool, base::SliceBuilder&) override {}
    void set_tracks(const media::TrackSet& tracks) override;
    size_t encoded_size(const media::Frame& frame) override;
    void encode(const media::Frame& frame, uint8_t* out) override;
    bool carries(media::Kind kind) const override { return kind == media::Kind::kAudio; }
    uint8_t first_track(media::Kind) const override { return index_; }

  private:
    uint8_t index_ = 0;  // of the track
    std::optional<media::AacConfig> config_;
};

class Mp3Encoder final : public live::WireEncoder {
  public:
    void encode_prefix(const media::TrackSet&, media::Time, bool, base::SliceBuilder&) override {}
    void set_tracks(const media::TrackSet& tracks) override;
    size_t encoded_size(const media::Frame& frame) override;
    void encode(const media::Frame& frame, uint8_t* out) override;
    bool carries(media::Kind kind) const override { return kind == media::Kind::kAudio; }
    uint8_t first_track(media::Kind) const override { return index_; }

  private:
    uint8_t index_ = 0;  // of the track
};

}  // namespace convert
