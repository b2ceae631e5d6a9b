#pragma once
// Any wire format in WebSocket frames: a binary message for each packet, and one for the prefix. It has its own log, so
// frames are encoded once for all WebSocket viewers.

#include <memory>

#include "live/fanout/wire_encoder.h"

namespace service::http_live {

class WebSocketFraming final : public live::WireEncoder {
  public:
    explicit WebSocketFraming(std::unique_ptr<live::WireEncoder> inner) : inner_(std::move(inner)) {}

    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                       base::SliceBuilder& out) override;
    void set_tracks(const media::TrackSet& tracks) override { inner_->set_tracks(tracks); }
    uint32_t save_start_state() const override { return inner_->save_start_state(); }
    void restore_start_state(uint32_t state) override { inner_->restore_start_state(state); }
    size_t encoded_size(const media::Frame& frame) override;
    void encode(const media::Frame& frame, uint8_t* out) override;
    bool is_repeatable() const override { return inner_->is_repeatable(); }
    bool carries(media::Kind kind) const override { return inner_->carries(kind); }
    uint8_t first_track(media::Kind kind) const override { return inner_->first_track(kind); }

  private:
    std::unique_ptr<live::WireEncoder> inner_;
};

}  // namespace service::http_live
