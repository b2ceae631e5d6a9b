#pragma once
// Renditions: those of a stream, each with a playlist of its own whose segments are those of the stream's timeline. The
// main one has the first video track and the audio track that leads. While the stream has several audio tracks, there
// is one of each further track (RFC 8216, 4.3.4.2.1).
//
// Of a stream in fMP4 with video there are then also the video alone and the first audio track alone: players on Media
// Source Extensions (hls.js) cannot take the audio out of MP4 segments that have both. Their bytes in memory are those
// of the main rendition.
//
//  - A track begins with the first segment that it is part of.
//  - A track that is no part of the stream any more ends its playlist. With the last of its segments its files go.
//  - A track that the format does not carry is left out. Only if the main rendition can have none of its tracks, there
//    is no segment.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "media/track_set.h"
#include "service/hls/rendition.h"

namespace service::hls {

class Renditions {
  public:
    using Make = std::function<std::unique_ptr<Rendition>(RenditionId id)>;
    using LeftOut = std::function<void(RenditionId id, const base::Error& why)>;

    // apart: the video and the first audio track too. left_out: is told of a track that is left out, once for each of
    // its configurations.
    // The writer must outlive it.
    Renditions(bool apart, SegmentWriter& writer, Make make, LeftOut left_out)
        : apart_(apart), writer_(writer), make_(std::move(make)), left_out_(std::move(left_out)) {}

    // It is there from now on: the main one, or one of which an earlier run has left files.
    void add(RenditionId id);
    // A segment of the stream, which the writer has open. tracks: those of the stream. An error: the main rendition
    // cannot have it.
    base::Result<void> open(const media::TrackSet& tracks);
    void open_gap();
    void end_part();
    void close(SegmentTimeline::Id segment);
    void lose();
    // The writer cannot write its track. What it has had so far stays, as that of a track that has ended.
    void leave_out(RenditionId id, const base::Error& why);
    // Ends the playlists of what is no track any more, and drops those that have no segment left.
    void end_left_out();

    // Null: there is none.
    Rendition* find(RenditionId id) const { return members_[id].rendition.get(); }
    Rendition* find(std::string_view playlist) const;
    Rendition* main() const { return find(kMainRendition); }
    // The audio tracks that a new player may choose, by index: they go on with the stream, and have a segment. Empty:
    // there is no other than the first.
    std::vector<uint8_t> playable() const;
    // The video for players of a track among them, the first one included. Null: they play the main rendition.
    const Rendition* video_apart() const;
    // The main one first.
    void for_each(const std::function<void(Rendition&)>& visit) const;

  private:
    struct Member {
        std::unique_ptr<Rendition> rendition{};
        bool active = false;                // its tracks are part of the newest segment
        uint32_t revision = 0;              // media::Track::revision, in the newest segment; of one track
        std::optional<uint32_t> refused{};  // the revision that is left out
    };
    media::TrackSet tracks_of(const media::TrackSet& all, RenditionId id) const;
    void open_other(RenditionId id, const media::TrackSet& tracks);
    base::Result<void> open(Member& member, const media::TrackSet& tracks);
    bool is_playable(RenditionId id) const;

    const bool apart_;
    SegmentWriter& writer_;
    Make make_;
    LeftOut left_out_;
    bool has_segment_ = false;
    std::array<Member, kRenditions> members_{};  // by id
};

}  // namespace service::hls
