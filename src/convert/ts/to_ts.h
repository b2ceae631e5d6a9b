#pragma once
// Live frames as an MPEG-TS over HTTP (protocol/ts): the transport packets of one frame are a packet of the log. A
// keyframe has the tables before it; a viewer that begins elsewhere, in a stream without video, gets them as its
// prefix. All tracks are in one program; those of codecs that MPEG-TS does not carry are left out.

#include "live/fanout/wire_encoder.h"
#include "protocol/ts/muxer.h"

namespace convert {

class TsEncoder final : public live::WireEncoder {
  public:
    TsEncoder();

    void set_tracks(const media::TrackSet& tracks) override;
    uint32_t save_start_state() const override;
    void restore_start_state(uint32_t state) override { recalled_ = state; }
    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                       base::SliceBuilder& out) override;
    size_t encoded_size(const media::Frame& frame) override { return muxer_.prepare(frame); }
    // The frame is the one that encoded_size() was asked about last.
    void encode(const media::Frame&, uint8_t* out) override { muxer_.write(out); }
    bool carries(media::Kind kind) const override;
    uint8_t first_track(media::Kind kind) const override;

  private:
    ts::Muxer muxer_;
    bool video_left_out_ = false;
    uint32_t recalled_ = 0;
};

}  // namespace convert
