#include "service/hls/audio_group.h"

#include <algorithm>

namespace service::hls {

// ---- A segment

void AudioGroup::open(const media::TrackSet& tracks) {
    has_segment_ = true;
    for (RenditionId id = 0; id < kRenditions; ++id) open_rendition(tracks, id);
}

// The track that it has at present; null: it is no part of the group.
const media::Track* AudioGroup::track_of(const media::TrackSet& tracks, RenditionId id) const {
    if (id > 0 && id < kVideoRendition) return tracks.find(media::Kind::kAudio, id);
    if (!apart_ || !tracks.video() || tracks.count(media::Kind::kAudio) < 2) return nullptr;
    return id == kVideoRendition ? tracks.video() : tracks.audio();
}

void AudioGroup::open_rendition(const media::TrackSet& tracks, RenditionId id) {
    Member& member = members_[id];
    member.active = false;
    const media::Track* track = track_of(tracks, id);
    if (!track || member.refused == track->revision) return;
    member.revision = track->revision;
    member.refused.reset();
    if (!member.rendition) member.rendition = make_(id);
    media::TrackSet alone;
    alone.tracks.push_back(*track);
    auto opened = writer_.check(alone);
    if (opened) opened = member.rendition->open(writer_.lane_of(track->kind, track->index));
    if (!opened) return leave_out(id, opened.error());
    member.active = true;
}

void AudioGroup::leave_out(RenditionId id, const base::Error& why) {
    Member& member = members_[id];
    if (!member.rendition) return;
    member.active = false;
    member.refused = member.revision;
    member.rendition->lose();
    left_out_(id, why);
}

void AudioGroup::end_part() {
    for (Member& member : members_)
        if (member.active) member.rendition->end_part();
}

void AudioGroup::close(SegmentTimeline::Id segment) {
    for (Member& member : members_)
        if (member.active) member.rendition->close(segment);
}

void AudioGroup::lose() {
    for_each([](Rendition& rendition) { rendition.lose(); });
}

// ---- The stream

void AudioGroup::found(RenditionId id) {
    if (!members_[id].rendition) members_[id].rendition = make_(id);
}

void AudioGroup::begin_publishing() {
    for_each([](Rendition& rendition) { rendition.begin_publishing(); });
}

void AudioGroup::end_left_out() {
    for (Member& member : members_) {
        if (!member.rendition || member.active || !has_segment_) continue;
        member.rendition->end_list();
        if (!member.rendition->empty()) continue;
        member.rendition->dispose();
        member.rendition.reset();
    }
}

// ---- What there is

Rendition* AudioGroup::find(RenditionId id) const { return members_[id].rendition.get(); }

bool AudioGroup::is_playable(RenditionId id) const {
    const Member& member = members_[id];
    // Before the first segment of this run those that the last one left are as good as the main one.
    return member.rendition && member.rendition->view() && (member.active || !has_segment_);
}

std::vector<RenditionId> AudioGroup::playable() const {
    std::vector<RenditionId> tracks;
    for (RenditionId track = 1; track < kVideoRendition; ++track)
        if (is_playable(track)) tracks.push_back(track);
    if (!tracks.empty()) tracks.insert(tracks.begin(), 0);
    return tracks;
}

const Rendition* AudioGroup::video_apart() const {
    return is_playable(0) && is_playable(kVideoRendition) ? find(kVideoRendition) : nullptr;
}

void AudioGroup::for_each(const std::function<void(Rendition&)>& visit) const {
    for (const Member& member : members_)
        if (member.rendition) visit(*member.rendition);
}

}  // namespace service::hls
