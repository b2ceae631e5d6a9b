#pragma once
// Sample entries: the box with the decoder configuration (see track.h for the specifications). The published
// configuration is copied as it is; only what contradicts the entry's type is corrected.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "media/frame.h"

namespace mp4 {

struct VideoSize {
    int width = 0;  // pixels; 0: not known
    int height = 0;
};

struct VideoEntry {
    std::vector<uint8_t> box;
    VideoSize size;
};

struct AudioEntry {
    std::vector<uint8_t> box;
    int sample_rate = 0;         // Hz
    uint32_t frame_samples = 0;  // samples per frame at that rate, 0 when it varies
};

// See make_track for header and keyframe. otherwise: the size when neither contains it.
base::Result<VideoEntry> video_entry(const media::Frame& header, const media::Frame* keyframe, VideoSize otherwise);
base::Result<AudioEntry> audio_entry(const media::Frame& header);

}  // namespace mp4
