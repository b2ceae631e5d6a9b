#pragma once
// Splits a whole MP4 file in memory into samples: plain files by their sample tables, fragmented files by their
// fragments, truncated files as far as they are readable. Edit lists are read but not applied.

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

// The movie's spans point into the file's bytes. More than max_samples in all tracks together: an error in a plain
// file; in a fragmented file, reading stops there.
base::Result<Demuxed> demux(std::span<const uint8_t> file, size_t max_samples = 1 << 24);

// The sample as a published frame of the track's index.
media::Frame frame_of(std::span<const uint8_t> file, const Track& track, const Sample& sample);

// The decoder configuration of a sample entry, in the form that a publisher sends. Empty payload for codecs without
// one.
base::Result<media::Frame> header_of(const Track& track, std::span<const uint8_t> entry);

}  // namespace mp4
