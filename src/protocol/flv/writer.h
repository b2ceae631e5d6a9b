#pragma once
// Writes frames as FLV bodies and RTMP message payloads: the few bytes that precede a frame's payload. H.264, AAC and
// the older codecs are written in their legacy form; HEVC, AV1, VP9, VP8, Opus, FLAC and AC-3 in Enhanced RTMP's; all
// tracks but the first of their kind as a multitrack body with one track, whose id is the frame's. Hot path: no
// allocation, no error; the caller copies the payload behind the header.

#include <cstddef>
#include <cstdint>

#include "media/frame.h"
#include "protocol/flv/codec_ids.h"
#include "protocol/flv/metadata.h"

namespace flv {

inline constexpr size_t kMaxBodyHeader = 10;

// Writes the body's header to out and returns its size in bytes: 1 to 10 for audio and video, 0 for data frames, whose
// body is the payload itself. Nothing is written behind that size. cts is limited to 24 bits of ms, signed.
size_t put_body_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);
size_t video_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);
size_t audio_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);

// Whether a frame can be written: tracks but the first need a codec with a FourCC.
inline bool can_write(const media::Frame& frame) { return frame.track == 0 || codec_ids(frame.codec).fourcc != 0; }

// The timestamp of a frame's tag or message, in ms, wrapped at 2^32. onMetaData always has 0: it belongs to no point in
// time, and FFmpeg shows a subtitle track where it has another timestamp.
inline uint32_t timestamp(const media::Frame& frame) {
    return is_metadata(frame) ? 0 : static_cast<uint32_t>(media::to_ms(frame.dts));
}

}  // namespace flv
