#pragma once
// TrackSet: the tracks of a stream, and the data that a decoder needs before their first frame. Immutable once it is
// shared: a change makes a new one.

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
    // The sequence header; for a codec without one, the first frame, which describes the track. Nothing: a frame of a
    // codec with sequence headers arrived without one.
    std::optional<Frame> header{};
    std::string language{};  // ISO 639-2 or BCP 47, "eng"; empty: not known
    std::string label{};     // for people, "Commentary"; empty: none
    // TrackSet::revision when its codec or its header last changed: another one needs another decoder configuration.
    uint32_t revision = 0;

    // The decoder's configuration; null: the codec has none, or it has not arrived.
    const Frame* config() const { return header && header->sequence_header ? &*header : nullptr; }
    // The same track under another index.
    Track at_index(uint8_t other) const;
};

// The description of a track for people and players.
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
    uint32_t revision = 0;  // how often it changed; continues with the stream's next publisher

    // Null: the stream has no such track.
    const Track* find(Kind kind, uint8_t index = 0) const {
        for (const Track& track : tracks)
            if (track.kind == kind && track.index == index) return &track;
        return nullptr;
    }
    // The first track of the kind that fits: that of the least index for which fits(track) is true. Null: there is
    // none.
    const Track* first(Kind kind, auto&& fits) const {
        for (const Track& track : tracks)
            if (track.kind == kind && fits(track)) return &track;
        return nullptr;
    }
    const Track* first_audio(Codec codec) const {
        return first(Kind::kAudio, [&](const Track& track) { return track.codec == codec; });
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

    // The frames that a player gets before the first frame: the metadata, and the sequence headers of all tracks.
    std::vector<const Frame*> headers() const;

    // Whether update() would change the set.
    bool changes_state(const Frame& frame) const;
    // A sequence header, metadata, or the first frame of a codec in its track: the track becomes what the frame says.
    void update(const Frame& frame);
    // Languages and labels of the tracks: of the present ones, and of later ones.
    void describe(std::vector<TrackName> names);

    // Bytes of allocations.
    size_t memory() const;

  private:
    Track& track(Kind kind, uint8_t index);
    void set_name(Track& track) const;

    std::vector<TrackName> names_{};
};

}  // namespace media
