#pragma once
// Frames into FLV bodies and RTMP message payloads: the few bytes that stand before a frame's payload. H.264, AAC and
// the older codecs are written in their legacy form, HEVC, AV1, VP9, VP8, Opus, FLAC and AC-3 in Enhanced RTMP's. Hot
// path: no allocation, no error; the caller copies the payload behind the header.

#include <cstddef>
#include <cstdint>

#include "media/frame.h"
#include "protocol/flv/metadata.h"

namespace flv {

inline constexpr size_t kMaxBodyHeader = 8;

// Writes the body's header to out and returns its size in bytes: 1 to 8 for audio and video, 0 for data frames, whose
// body is the payload itself. cts is cut to 24 bits, signed.
size_t put_body_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);
size_t video_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);
size_t audio_header(const media::Frame& frame, uint8_t out[kMaxBodyHeader]);

// What a frame's tag or message has as its time, in ms, wrapped at 2^32. onMetaData has 0, whenever it comes: it
// belongs to no moment, and FFmpeg shows a track of subtitles where it has another.
inline uint32_t timestamp(const media::Frame& frame) {
    return is_metadata(frame) ? 0 : static_cast<uint32_t>(frame.dts);
}

}  // namespace flv
