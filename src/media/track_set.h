#pragma once
// TrackSet: the tracks of a stream, and what a decoder needs before their first frame. Immutable once others hold it: a
// change makes a new one.

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

    // The decoder's configuration; null: the codec has none, or it has not come.
    const Frame* config() const { return header && header->sequence_header ? &*header : nullptr; }
};

struct TrackSet : base::RefCounted<TrackSet> {
    std::vector<Track> tracks{};      // video before audio, each by index
    std::optional<Frame> metadata{};  // Kind::kData, "onMetaData"

    // Null: the stream has no such track.
    const Track* find(Kind kind, uint8_t index = 0) const {
        for (const Track& track : tracks)
            if (track.kind == kind && track.index == index) return &track;
        return nullptr;
    }
    const Track* video() const { return find(Kind::kVideo); }
    const Track* audio() const { return find(Kind::kAudio); }
    Codec codec(Kind kind) const {
        const Track* track = find(kind);
        return track ? track->codec : Codec::kNone;
    }
    // Its sequence header, null when there is none.
    const Frame* config(Kind kind) const {
        const Track* track = find(kind);
        return track ? track->config() : nullptr;
    }
    // Bytes of allocations.
    size_t memory() const;
};

}  // namespace media
