#include "service/hls/audio_group.h"

#include <algorithm>

namespace service::hls {

namespace {

// The track alone, as the first of its kind: muxers know one.
media::TrackSet alone(const media::Track& track) {
    media::TrackSet tracks;
    tracks.revision = track.revision;
    tracks.tracks.push_back(track.at_index(0));
    return tracks;
}

}  // namespace

// ---- A segment

void AudioGroup::open(const Opening& opening) {
    has_segment_ = true;
    for (RenditionId id = 0; id < kRenditions; ++id) open_rendition(opening, id);
}

// The track that it has at present; null: it is no part of the group.
const media::Track* AudioGroup::track_of(const media::TrackSet& tracks, RenditionId id) const {
    if (id > 0 && id < kVideoRendition) return tracks.find(media::Kind::kAudio, id);
    if (!apart_ || !tracks.video() || tracks.count(media::Kind::kAudio) < 2) return nullptr;
    return id == kVideoRendition ? tracks.video() : tracks.audio();
}

void AudioGroup::open_rendition(const Opening& opening, RenditionId id) {
    Member& member = members_[id];
    member.active = false;
    const media::Track* track = track_of(opening.tracks, id);
    if (!track || member.refused == track->revision) return;
    member.revision = track->revision;
    member.refused.reset();
    if (!member.rendition) member.rendition = make_(id);
    media::Frame first = opening.first;
    if (id != kVideoRendition) {
        first = {};
        first.kind = media::Kind::kAudio;
        first.codec = track->codec;
    }
    auto opened = member.rendition->open(alone(*track), first, opening.tracks_changed || opening.discontinuity);
    if (!opened) return leave_out(id, opened.error());
    member.active = true;
}

void AudioGroup::add(const media::Frame& frame) {
    const bool is_video = frame.kind == media::Kind::kVideo;
    if (is_video && frame.track != 0) return;
    const RenditionId id = is_video ? kVideoRendition : frame.track;
    Member& member = members_[id];
    if (!member.active) return;
    media::Frame alone = frame;
    alone.track = 0;
    auto added = member.rendition->add(alone);
    if (!added) leave_out(id, added.error());
}

// What it has had so far stays, as that of a track that has ended.
void AudioGroup::leave_out(RenditionId id, const base::Error& why) {
    Member& member = members_[id];
    member.active = false;
    member.refused = member.revision;
    member.rendition->lose();
    left_out_(id, why);
}

void AudioGroup::end_part(const PartEnd& end) {
    for (Member& member : members_)
        if (member.active) member.rendition->end_part(end);
}

void AudioGroup::close(const Closing& closing, SegmentTimeline::Id segment) {
    for (Member& member : members_)
        if (member.active) member.rendition->close(closing, segment);
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
