#pragma once
// TrackSet: the tracks of a stream, and what a decoder needs before their first frame. Immutable once others hold it: a
// change makes a new one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ref.h"
#include "media/frame.h"

namespace media {

struct Track {
    Kind kind = Kind::kVideo;
    uint8_t index = 0;  // Frame::track
    Codec codec = Codec::kNone;
    // The sequence header; for a codec without one, the first frame: what the track is stands in it. Nothing: a frame
    // of a codec that has sequence headers came without.
    std::optional<Frame> header{};
    std::string language{};  // ISO 639-2 or BCP 47, "eng"; empty: not known
    std::string label{};     // for people, "Commentary"; empty: none
    // TrackSet::revision when its codec or its header last changed: another one needs another decoder configuration.
    uint32_t revision = 0;

    // The decoder's configuration; null: the codec has none, or it has not come.
    const Frame* config() const { return header && header->sequence_header ? &*header : nullptr; }
};

// Who a track is for.
struct TrackName {
    Kind kind = Kind::kVideo;
    uint8_t index = 0;
    std::string language{};
    std::string label{};
};

struct TrackSet : base::RefCounted<TrackSet> {
    std::vector<Track> tracks{};      // video before audio, each by index
    std::optional<Frame> metadata{};  // Kind::kData, "onMetaData"
    uint32_t metadata_revision = 0;
    uint32_t revision = 0;  // how often it changed; goes on with the stream's next publisher

    // Null: the stream has no such track.
    const Track* find(Kind kind, uint8_t index = 0) const {
        for (const Track& track : tracks)
            if (track.kind == kind && track.index == index) return &track;
        return nullptr;
    }
    const Track* video() const { return find(Kind::kVideo); }
    const Track* audio() const { return find(Kind::kAudio); }
    // The codec of the first track of a kind; kNone when there is none.
    Codec codec(Kind kind) const {
        const Track* track = find(kind);
        return track ? track->codec : Codec::kNone;
    }
    // The sequence header of the first track of a kind; null when there is none.
    const Frame* config(Kind kind) const {
        const Track* track = find(kind);
        return track ? track->config() : nullptr;
    }
    size_t count(Kind kind) const;
    bool empty() const { return tracks.empty() && !metadata; }

    // What a player gets before the first frame: the metadata, and the sequence headers of all tracks.
    std::vector<const Frame*> headers() const;

    // Whether note() would change it.
    bool is_news(const Frame& frame) const;
    // A sequence header, metadata, or a frame of a codec that the track did not have: its track is as the frame says.
    void note(const Frame& frame);
    // Who its tracks are for: of those that are there, and those that will come.
    void describe(std::vector<TrackName> names);

    // Bytes of allocations.
    size_t memory() const;

  private:
    Track& track(Kind kind, uint8_t index);
    void set_name(Track& track) const;

    std::vector<TrackName> names_{};
};

}  // namespace media
