#pragma once
// For tests of wire encoders: what one makes of a frame, and of headers.

#include "live/fanout/wire_encoder.h"
#include "live/hub/testing.h"

namespace live::testing {

inline base::Slice encode(WireEncoder& encoder, const media::Frame& frame) {
    base::SliceBuilder out;
    if (size_t size = encoder.encoded_size(frame)) encoder.encode(frame, out.extend(size));
    return out.freeze();
}

// dts: ms.
inline base::Slice prefix(WireEncoder& encoder, const StreamHeaders& headers, int64_t dts, bool first = true) {
    base::SliceBuilder out;
    encoder.encode_prefix(headers, media::from_ms(dts), first, out);
    return out.freeze();
}

// The headers with AAC, H.264 or both in them.
inline StreamHeaders& headers_with(StreamHeaders& headers, bool audio, bool video) {
    if (audio) headers.audio = header(media::Kind::kAudio, "\x12\x10");
    if (video) headers.video = header(media::Kind::kVideo, "avcC");
    headers.has_audio = audio;
    headers.has_video = video;
    return headers;
}

}  // namespace live::testing
