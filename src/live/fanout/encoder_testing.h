#pragma once
// For tests of wire encoders: the bytes that an encoder writes for a frame, and headers.

#include "live/fanout/wire_encoder.h"
#include "live/hub/testing.h"

namespace live::testing {

inline base::Slice encode(WireEncoder& encoder, const media::Frame& frame) {
    base::SliceBuilder out;
    if (size_t size = encoder.encoded_size(frame)) encoder.encode(frame, out.extend(size));
    return out.freeze();
}

// dts: ms.
inline base::Slice prefix(WireEncoder& encoder, const media::TrackSet& tracks, int64_t dts, bool first = true) {
    base::SliceBuilder out;
    encoder.encode_prefix(tracks, media::from_ms(dts), first, out);
    return out.freeze();
}

// The same with AAC, H.264 or both.
inline media::TrackSet& tracks_with(media::TrackSet& tracks, bool audio, bool video) {
    if (audio) tracks.update(header(media::Kind::kAudio, "\x12\x10"));
    if (video) tracks.update(header(media::Kind::kVideo, "avcC"));
    return tracks;
}

}  // namespace live::testing
