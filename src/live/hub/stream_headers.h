#pragma once
// What a decoder needs before the first frame. Immutable: a change makes a new one, and each place in a LiveLog at
// which a viewer may start refers to the one in force there.

#include <optional>

#include "base/ref.h"
#include "media/frame.h"

namespace live {

struct StreamHeaders : base::RefCounted<StreamHeaders> {
    std::optional<media::Frame> metadata;  // Kind::kData, "onMetaData"
    std::optional<media::Frame> video;     // sequence header
    std::optional<media::Frame> audio;     // sequence header
    // Whether the stream has such a track: its sequence header or a frame of it was seen.
    bool has_video = false;
    bool has_audio = false;
    // The track's codec, also where the codec has no sequence header.
    media::Codec video_codec = media::Codec::kNone;
    media::Codec audio_codec = media::Codec::kNone;
    // The first frame of a codec that has no sequence header: what the track is stands in it.
    std::optional<media::Frame> video_example;
    std::optional<media::Frame> audio_example;

    size_t memory() const {
        size_t bytes = sizeof(*this);
        for (const auto* frame : {&metadata, &video, &audio, &video_example, &audio_example})
            if (*frame) bytes += (*frame)->payload.memory();
        return bytes;
    }
};

}  // namespace live
