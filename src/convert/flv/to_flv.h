#pragma once
// Live frames as an FLV file over HTTP (Adobe Flash Video File Format 10.1, annex E): one tag per packet.

#include <cstdint>

#include "live/fanout/wire_encoder.h"
#include "protocol/flv/writer.h"

namespace convert {

// A vhost's options for FLV (http_remux).
struct FlvOptions {
    bool guess = true;  // the file header states the stream's tracks, else the options below
    bool has_audio = true;
    bool has_video = true;
    bool drop_if_not_match = true;  // without guess: tags of a kind that the header excludes are left out
    bool all_tracks = false;        // else the first of each kind, for players that support only one

    bool carries_audio() const { return guess || has_audio || !drop_if_not_match; }
    bool carries_video() const { return guess || has_video || !drop_if_not_match; }
    // The options as a parameter of a log's key, and back. Options that make no difference are equal there.
    uint32_t bits() const;
    static FlvOptions of(uint32_t bits);
};

class FlvEncoder final : public live::WireEncoder {
  public:
    explicit FlvEncoder(const FlvOptions& options) : options_(options) {}

    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                       base::SliceBuilder& out) override;
    void set_tracks(const media::TrackSet& tracks) override;
    bool awaits_tracks() const override { return (awaited_.audio || awaited_.video) && options_.guess; }
    void stop_awaiting() override { awaited_ = {}; }
    size_t encoded_size(const media::Frame& frame) override;
    void encode(const media::Frame& frame, uint8_t* out) override;
    bool is_repeatable() const override { return true; }
    bool carries(media::Kind kind) const override;

  private:
    struct Kinds {
        bool audio = false;
        bool video = false;
        Kinds operator|(const Kinds& other) const { return {audio || other.audio, video || other.video}; }
    };
    static Kinds kinds_of(const media::TrackSet& tracks) {
        return {tracks.audio() != nullptr, tracks.video() != nullptr};
    }
    bool carries(const media::Frame& frame) const;
    FlvOptions options_;
    Kinds present_;                        // the stream has now
    Kinds awaited_;                        // the metadata announces them, and they have not come
    uint8_t header_[flv::kMaxBodyHeader];  // of the body of the frame last passed to encoded_size()
    size_t header_size_ = 0;
};

}  // namespace convert
