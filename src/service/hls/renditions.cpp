#include "service/hls/renditions.h"

#include <algorithm>
#include <iterator>

namespace service::hls {

void Renditions::add(RenditionId id) {
    if (!members_[id].rendition) members_[id].rendition = make_(id);
}

// ---- A segment

base::Result<void> Renditions::open(const media::TrackSet& tracks) {
    if (main()) TRY(open(members_[kMainRendition], tracks_of(tracks, kMainRendition)));
    has_segment_ = true;
    for (RenditionId id = kMainRendition + 1; id < kRenditions; ++id) open_other(id, tracks_of(tracks, id));
    return {};
}

// Those that it has at present; none: it is no part of the stream.
media::TrackSet Renditions::tracks_of(const media::TrackSet& all, RenditionId id) const {
    const bool is_apart = apart_ && all.video() && all.count(media::Kind::kAudio) > 1;
    const auto has = [&](const media::Track& track) {
        if (id == kMainRendition) return track.index == 0;
        const bool is_video = track.kind == media::Kind::kVideo;
        if (id != (is_video ? kVideoRendition : audio_rendition(track.index))) return false;
        return track.index > 0 ? !is_video : is_apart;
    };
    media::TrackSet out;
    std::ranges::copy_if(all.tracks, std::back_inserter(out.tracks), has);
    return out;
}

void Renditions::open_other(RenditionId id, const media::TrackSet& tracks) {
    Member& member = members_[id];
    member.active = false;
    if (tracks.empty() || member.refused == tracks.tracks[0].revision) return;
    member.revision = tracks.tracks[0].revision;
    member.refused.reset();
    add(id);
    if (auto opened = open(member, tracks); !opened) leave_out(id, opened.error());
}

base::Result<void> Renditions::open(Member& member, const media::TrackSet& tracks) {
    member.active = false;
    TRY(writer_.check(tracks));
    Lanes lanes = 0;
    for (const media::Track& track : tracks.tracks) lanes |= writer_.lane_of(track.kind, track.index);
    TRY(member.rendition->open(lanes));
    member.active = true;
    return {};
}

void Renditions::leave_out(RenditionId id, const base::Error& why) {
    Member& member = members_[id];
    if (!member.rendition) return;
    member.active = false;
    member.refused = member.revision;
    member.rendition->lose();
    left_out_(id, why);
}

void Renditions::open_gap() {
    for (Member& member : members_)
        if (member.active) member.rendition->open_gap();
}

void Renditions::end_part() {
    for (Member& member : members_)
        if (member.active) member.rendition->end_part();
}

void Renditions::close(SegmentTimeline::Id segment) {
    for (Member& member : members_)
        if (member.active) member.rendition->close(segment);
}

void Renditions::lose() {
    for_each([](Rendition& rendition) { rendition.lose(); });
}

void Renditions::end_left_out() {
    for (RenditionId id = kMainRendition + 1; id < kRenditions; ++id) {
        Member& member = members_[id];
        if (!member.rendition || member.active || !has_segment_) continue;
        member.rendition->end_list();
        if (!member.rendition->empty()) continue;
        member.rendition->dispose();
        member.rendition.reset();
    }
}

// ---- What there is

Rendition* Renditions::find(std::string_view playlist) const {
    const auto found = std::ranges::find_if(members_, [&](const Member& member) {
        return member.rendition && member.rendition->paths().playlist() == playlist;
    });
    return found == members_.end() ? nullptr : found->rendition.get();
}

bool Renditions::is_playable(RenditionId id) const {
    const Member& member = members_[id];
    // Before the first segment of this run those that the last one left are as good as the main one.
    return member.rendition && member.rendition->has_view() && (member.active || !has_segment_);
}

std::vector<uint8_t> Renditions::playable() const {
    std::vector<uint8_t> tracks;
    for (uint8_t track = 1; track < media::kMaxTracks; ++track)
        if (is_playable(audio_rendition(track))) tracks.push_back(track);
    if (!tracks.empty()) tracks.insert(tracks.begin(), 0);
    return tracks;
}

const Rendition* Renditions::video_apart() const {
    return is_playable(audio_rendition(0)) && is_playable(kVideoRendition) ? find(kVideoRendition) : nullptr;
}

void Renditions::for_each(const std::function<void(Rendition&)>& visit) const {
    for (const Member& member : members_)
        if (member.rendition) visit(*member.rendition);
}

}  // namespace service::hls
