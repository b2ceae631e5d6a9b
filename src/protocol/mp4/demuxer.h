#pragma once
// A whole MP4 file in memory into samples: plain ones by their tables, fragmented ones by their fragments, torn ones as
// far as they go. Edit lists are read but not applied.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/frame.h"
#include "protocol/mp4/movie.h"

namespace mp4 {

struct Demuxed {
    Movie movie;
    std::vector<std::vector<Sample>> samples;  // by track, as in movie.tracks; all of them lie inside the file
};

// The movie's spans are parts of the file's bytes. More than max_samples in a track: an error in a plain file, the end
// in a fragmented one.
base::Result<Demuxed> demux(std::span<const uint8_t> file, size_t max_samples = 1 << 24);

// The sample as it was published: with dts and cts in ms.
media::Frame frame_of(std::span<const uint8_t> file, const Track& track, const Sample& sample);

// The decoder configuration in a sample entry, as a publisher sends it. Nothing in it for codecs that have none.
base::Result<media::Frame> header_of(const Track& track, std::span<const uint8_t> entry);

}  // namespace mp4
