#pragma once
// AudioGroup: the renditions of a stream's further audio tracks (RFC 8216, 4.3.4.2.1), each with a playlist of its own
// whose segments are those of the stream's timeline. There is none while the stream
// has one audio track.
//
// Of a stream in fMP4 with video the group has the video alone and the first audio track alone too: players on Media
// Source Extensions (hls.js) cannot take the audio out of MP4 segments that have both. Their bytes in memory are those
// of the main rendition.
//
//  - A track begins with the first segment that it is part of.
//  - A track that is no part of the stream any more ends its playlist. With the last of its segments its files go.
//  - A track that the format does not carry is left out.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "media/track_set.h"
#include "service/hls/rendition.h"

namespace service::hls {

class AudioGroup {
  public:
    using Make = std::function<std::unique_ptr<Rendition>(RenditionId id)>;
    using LeftOut = std::function<void(RenditionId id, const base::Error& why)>;

    // apart: the video and the first audio track too. left_out: is told of a track that is left out, once for each of
    // its configurations.
    // The writer must outlive it.
    AudioGroup(bool apart, SegmentWriter& writer, Make make, LeftOut left_out)
        : apart_(apart), writer_(writer), make_(std::move(make)), left_out_(std::move(left_out)) {}

    // A segment of the stream, which the writer has open. tracks: those of the stream.
    void open(const media::TrackSet& tracks);
    void end_part();
    void close(SegmentTimeline::Id segment);
    void lose();
    // The writer cannot write its track. What it has had so far stays, as that of a track that has ended.
    void leave_out(RenditionId id, const base::Error& why);

    // An earlier run has left files of that rendition.
    void found(RenditionId id);
    void begin_publishing();
    // Ends the playlists of what is no track any more, and drops those that have no segment left.
    void end_left_out();

    // Null: there is none.
    Rendition* find(RenditionId id) const;
    // The audio tracks that a new player may choose, by index: they go on with the stream, and have a segment. Empty:
    // there is no other than the first.
    std::vector<RenditionId> playable() const;
    // The video for players of a track among them, the first one included. Null: they play the main rendition.
    const Rendition* video_apart() const;
    void for_each(const std::function<void(Rendition&)>& visit) const;

  private:
    struct Member {
        std::unique_ptr<Rendition> rendition{};
        bool active = false;                // its track is part of the newest segment
        uint32_t revision = 0;              // media::Track::revision, in the newest segment
        std::optional<uint32_t> refused{};  // the revision that is left out
    };
    const media::Track* track_of(const media::TrackSet& tracks, RenditionId id) const;
    void open_rendition(const media::TrackSet& tracks, RenditionId id);
    bool is_playable(RenditionId id) const;

    const bool apart_;
    SegmentWriter& writer_;
    Make make_;
    LeftOut left_out_;
    bool has_segment_ = false;
    std::array<Member, kRenditions> members_{};  // by id
};

}  // namespace service::hls
