#include "convert/segments/default_audio.h"

namespace convert {

base::Ref<media::TrackSet> DefaultAudio::choose(const base::Ref<media::TrackSet>& published, const LeftOut& left_out) {
    const media::Track* lead = published->first(
        media::Kind::kAudio, [this](const media::Track& track) { return carries_(track).has_value(); });
    default_index_ = lead ? lead->index : 0;
    if (default_index_ == 0) return published;
    auto chosen = base::make_ref<media::TrackSet>(*published);
    chosen->tracks.clear();
    for (const media::Track& track : published->tracks) {
        const bool is_audio = track.kind == media::Kind::kAudio;
        if (is_audio && track.index < default_index_)
            left_out(track, carries_(track).error());
        else
            chosen->tracks.push_back(is_audio && track.index == default_index_ ? track.at_index(0) : track);
    }
    return chosen;
}

}  // namespace convert
