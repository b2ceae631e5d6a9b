#pragma once
// Reads the movie box (ISO/IEC 14496-12, 8.2) and movie fragments (8.8): tracks with their sample entries, and samples
// with size, time and position. Memory use is bounded by the size of the input. It does not follow data references to
// other files, and reads no sample groups or encryption.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/mp4/moov.h"
#include "protocol/mp4/track.h"

namespace mp4 {

// The defaults in trex for samples whose fragment does not set these fields.
struct SampleDefaults {
    uint32_t description = 1;
    uint32_t duration = 0;
    uint32_t size = 0;
    uint32_t flags = 0;
};

// The tables of stbl: their entries in file format. The spans point into the parsed bytes.
struct SampleTableBytes {
    std::span<const uint8_t> stts;
    std::span<const uint8_t> ctts;
    std::span<const uint8_t> stsc;
    std::span<const uint8_t> stsz;  // empty where all samples have fixed_size
    uint32_t fixed_size = 0;
    uint32_t samples = 0;  // from stsz
    std::span<const uint8_t> chunk_offsets;
    bool long_offsets = false;
    std::span<const uint8_t> stss;
    bool all_sync = true;
};

struct MovieTrack {
    Track track;  // codec is kNone where the first sample entry is of an unknown codec
    SampleDefaults defaults;
    SampleTableBytes tables;
    std::vector<Edit> edits;
    uint64_t duration = 0;  // in the track's time scale, from mdhd
};

struct Movie {
    bool fragmented = false;  // there is an mvex
    uint32_t timescale = kMovieTimescale;
    uint64_t duration = 0;
    std::vector<MovieTrack> tracks;
};

// Decoding times beyond this are rejected as invalid: 35 years in microseconds.
inline constexpr int64_t kMaxTime = int64_t{1} << 50;

// payload: of a moov box. Tracks that are neither video nor audio are ignored. A track's index is its position among
// those of its kind. kLimit: more than media::kMaxTracks of a kind.
base::Result<Movie> parse_moov(std::span<const uint8_t> payload);

// Takes the tracks of a later moov of the same recording: new ones, and known ones, by their ids, with their new sample
// entries. False: they contradict the known ones, by another kind or time scale or fewer sample entries, or are too
// many; then the movie may have taken some of them.
bool merge_tracks(Movie& movie, std::vector<MovieTrack>&& newer);

struct Sample {
    uint64_t offset = 0;  // in the file
    uint32_t size = 0;
    uint32_t duration = 0;  // in the track's time scale
    int64_t dts = 0;
    int32_t cts = 0;
    uint32_t description = 1;
    bool sync = false;
};

// The samples of a plain file's track. Tables that contradict each other are an error. At most max_samples.
base::Result<std::vector<Sample>> expand(const MovieTrack& track, size_t max_samples);

// Consecutive samples of one track.
struct Run {
    size_t track = 0;  // index into the movie's tracks
    uint32_t description = 1;
    size_t first = 0;  // index into MovieFragment::samples
    size_t count = 0;
    uint64_t end = 0;  // end of the data, as offset in the file
};

struct MovieFragment {
    uint32_t sequence = 0;
    std::vector<Run> runs;
    std::vector<Sample> samples;
};

// Limit for samples without fields of their own: they take no bytes in a trun, so the input size does not bound their
// number. A fragment may not have more samples than this at the end of such a run.
inline constexpr uint32_t kMaxUniformRun = 1 << 16;

// payload: of a moof box at moof_offset in the file. Tracks that the movie does not have are ignored. A track fragment
// without a decode time continues at next_dts of its track (same index as in movie.tracks). next_dts is advanced.
base::Result<void> parse_moof(std::span<const uint8_t> payload, uint64_t moof_offset, const Movie& movie,
                              std::vector<int64_t>& next_dts, MovieFragment& out);

}  // namespace mp4
