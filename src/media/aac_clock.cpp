#include "media/aac_clock.h"

#include "media/aac.h"

namespace media {

Time AacClock::correct(Time dts, int samples, int rate) {
    if (rate <= 0 || samples <= 0) return dts;
    Time counted = base_ + from_ticks(samples_, rate);
    const bool fits = started_ && rate == rate_ && distance(dts, counted) <= kMax;
    if (!fits) {
        started_ = true;
        rate_ = rate;
        base_ = counted = dts;
        samples_ = 0;
    }
    samples_ += samples;
    return counted;
}

void AacClocks::set_tracks(const TrackSet& tracks) {
    for (const Track& track : tracks.tracks) {
        if (track.kind != Kind::kAudio) continue;
        const auto config = track.config() && track.codec == Codec::kAac ? parse_aac_config(track.config()->payload)
                                                                         : base::Result<AacConfig>(AacConfig());
        entries_[track.index].rate = config ? config->core_sample_rate : 0;
        entries_[track.index].samples = config ? config->samples_per_frame : 0;
    }
}

Time AacClocks::correct(const Frame& frame) {
    Entry& entry = entries_[frame.track];
    return entry.clock.correct(frame.dts, entry.samples, entry.rate);
}

}  // namespace media
