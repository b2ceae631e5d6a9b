#include "media/track_set.h"

#include <algorithm>
#include <utility>

namespace media {

Track Track::at_index(uint8_t other) const {
    Track track = *this;
    track.index = other;
    if (track.header) track.header->track = other;
    return track;
}

bool TrackSet::changes_state(const Frame& frame) const {
    if (frame.kind == Kind::kData) return frame.sequence_header && !(metadata && metadata->payload == frame.payload);
    const Track* track = find(frame.kind, frame.track);
    if (!track || track->codec != frame.codec) return true;
    return frame.sequence_header && !(track->config() && track->header->payload == frame.payload);
}

void TrackSet::update(const Frame& frame) {
    ++revision;
    if (frame.kind == Kind::kData) {
        metadata = frame;
        metadata_revision = revision;
        return;
    }
    Track& changed = track(frame.kind, frame.track);
    changed.codec = frame.codec;
    changed.revision = revision;
    // The header of another codec does not fit.
    if (frame.sequence_header || !codec_info(frame.codec).has_sequence_header)
        changed.header = frame;
    else
        changed.header.reset();
}

void TrackSet::describe(std::vector<TrackName> names) {
    ++revision;
    names_ = std::move(names);
    for (Track& track : tracks) set_name(track);
}

void TrackSet::set_name(Track& track) const {
    for (const TrackName& name : names_) {
        if (name.kind != track.kind || name.index != track.index) continue;
        track.language = name.language;
        track.label = name.label;
    }
}

// Created if it is missing.
Track& TrackSet::track(Kind kind, uint8_t index) {
    auto key = [](const Track& track) { return std::pair(track.kind, track.index); };
    auto at = std::ranges::lower_bound(tracks, std::pair(kind, index), {}, key);
    if (at == tracks.end() || key(*at) != std::pair(kind, index)) {
        at = tracks.insert(at, Track());
        at->kind = kind;
        at->index = index;
        set_name(*at);
    }
    return *at;
}

std::vector<const Frame*> TrackSet::headers() const {
    std::vector<const Frame*> headers;
    if (metadata) headers.push_back(&*metadata);
    for (const Track& track : tracks)
        if (track.config()) headers.push_back(track.config());
    return headers;
}

size_t TrackSet::count(Kind kind) const { return static_cast<size_t>(std::ranges::count(tracks, kind, &Track::kind)); }

size_t TrackSet::memory() const {
    size_t bytes = sizeof(*this) + tracks.capacity() * sizeof(Track);
    for (const TrackName& name : names_) bytes += sizeof(name) + name.language.capacity() + name.label.capacity();
    for (const Track& track : tracks) {
        if (track.header) bytes += track.header->payload.memory();
        bytes += track.language.capacity() + track.label.capacity();
    }
    if (metadata) bytes += metadata->payload.memory();
    return bytes;
}

}  // namespace media
