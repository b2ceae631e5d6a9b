#pragma once
// DefaultAudio: the choice of the audio track that the main rendition has. It is the first one that the format of the
// segments carries; in what HLS makes of the stream it has index 0, and the tracks before it are no part of it. Where
// the format carries none, the tracks stay as they are. Pure.

#include <functional>

#include "base/ref.h"
#include "base/result.h"
#include "media/track_set.h"

namespace convert {

class DefaultAudio {
  public:
    // Whether the format has the track; the error is the reason why not.
    using Carries = base::Result<void> (*)(const media::Track& track);
    using LeftOut = std::function<void(const media::Track& track, const base::Error& why)>;

    explicit DefaultAudio(Carries carries) : carries_(carries) {}

    base::Result<void> carries(const media::Track& track) const { return carries_(track); }
    // The tracks of HLS, of those that are published, until the next call. left_out: is called for each track before
    // the one that leads.
    base::Ref<media::TrackSet> choose(const base::Ref<media::TrackSet>& published, const LeftOut& left_out);

    // Whether a published frame is part of HLS, and the index that its track has there.
    bool has(const media::Frame& frame) const {
        return frame.kind != media::Kind::kAudio || frame.track >= default_index_;
    }
    uint8_t index_of(const media::Frame& frame) const {
        return frame.kind == media::Kind::kAudio && frame.track == default_index_ ? 0 : frame.track;
    }

  private:
    Carries carries_;
    uint8_t default_index_ = 0;  // published index
};

}  // namespace convert
