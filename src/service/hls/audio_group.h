#pragma once
// AudioGroup: the renditions of a stream's further audio tracks (RFC 8216, 4.3.4.2.1), each with a playlist of its own
// whose segments are those of the stream's timeline. There is none while the stream
// has one audio track.
//
// Of a stream in fMP4 with video the group has the video alone and the first audio track alone too: players on Media
// Source Extensions (hls.js) cannot take the audio out of MP4 segments that have both.
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
#include "service/hls/segments/segmenter.h"

namespace service::hls {

class AudioGroup {
  public:
    using Make = std::function<std::unique_ptr<Rendition>(RenditionId id)>;
    using LeftOut = std::function<void(RenditionId id, const base::Error& why)>;

    // apart: the video and the first audio track too. left_out: is told of a track that is left out, once for each of
    // its configurations.
    AudioGroup(bool apart, Make make, LeftOut left_out)
        : apart_(apart), make_(std::move(make)), left_out_(std::move(left_out)) {}

    // A segment of the stream.
    void open(const Opening& opening);
    // Any frame; those that no rendition has are ignored.
    void add(const media::Frame& frame);
    void end_part(const PartEnd& end);
    void close(const Closing& closing, SegmentTimeline::Id segment);
    void lose();

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
    void open_rendition(const Opening& opening, RenditionId id);
    bool is_playable(RenditionId id) const;
    void leave_out(RenditionId id, const base::Error& why);

    const bool apart_;
    Make make_;
    LeftOut left_out_;
    bool has_segment_ = false;
    std::array<Member, kRenditions> members_{};  // by id
};

}  // namespace service::hls
