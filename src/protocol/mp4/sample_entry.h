#pragma once
// Sample entries: the box that tells a decoder what it needs (see track.h for the specifications). What is in the
// published configuration goes in as it is; only what the entry's name promises is mended.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "media/frame.h"

namespace mp4 {

struct PictureSize {
    int width = 0;  // pixels; 0: not known
    int height = 0;
};

struct VideoEntry {
    std::vector<uint8_t> box;
    PictureSize size;
};

struct AudioEntry {
    std::vector<uint8_t> box;
    int sample_rate = 0;         // Hz
    uint32_t frame_samples = 0;  // per frame at that rate, 0 when it varies
};

// See make_track for header and keyframe. otherwise: the size when neither tells.
base::Result<VideoEntry> video_entry(const media::Frame& header, const media::Frame* keyframe, PictureSize otherwise);
base::Result<AudioEntry> audio_entry(const media::Frame& header);

// Samples of an audio frame at the track's rate, 0 when it does not tell; AAC's are in its configuration.
uint32_t audio_frame_samples(media::Codec codec, std::span<const uint8_t> frame);

}  // namespace mp4
