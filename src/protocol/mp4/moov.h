#pragma once
// The movie box (ISO/IEC 14496-12, 8.2): of a fragmented file, whose samples are in its fragments (8.8), or of a plain
// file with sample tables (8.6, 8.7) and edit lists. The caller supplies the tables in their file format.
//
// The tracks are written in the order given, but those of one kind by their index, whatever the order in which they
// came: players take the first one of a kind. Where there are several of a kind, the first one is enabled, and all are
// one alternate group (8.3.2.3).
//
// A track's language is in mdhd if ISO 639-2 has a code for it, and in elng (8.4.6) if it says more than that. Its
// label is the name in hdlr, which ffprobe and Chromium show. The user data "name" (8.10.1) would say it too, but
// FFmpeg complains of it.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "media/time.h"
#include "protocol/mp4/box_writer.h"
#include "protocol/mp4/track.h"

namespace mp4 {

// The time scale of mvhd, tkhd and edit lists: of a fragmented file, and of a plain one whose tracks begin whole ms
// apart, as those of RTMP do.
inline constexpr uint32_t kMovieTimescale = 1000;
// The time scale of a plain file whose tracks do not: that of MPEG-TS and of video in RTP.
inline constexpr uint32_t kFineMovieTimescale = 90'000;

// Ticks of one time scale in another, rounded down. Limited to media::kMaxSeconds.
inline uint64_t rescale(uint64_t ticks, uint32_t from, uint32_t to) {
    uint64_t seconds = std::min<uint64_t>(ticks / from, media::kMaxSeconds);
    return seconds * to + ticks % from * to / from;
}

struct Edit {
    uint64_t duration = 0;   // in the movie's time scale
    int64_t media_time = 0;  // in the track's time scale; -1: an empty edit
};

// The sample tables of one track of a plain file. The bytes are the boxes' entries, which must outlive the use of the
// writer.
struct SampleTables {
    uint64_t duration = 0;  // in the track's time scale
    std::vector<Edit> edits;
    std::span<const uint8_t> stts;
    std::span<const uint8_t> ctts;  // empty: no composition offsets
    std::span<const uint8_t> stsc;
    std::span<const uint8_t> stsz;
    std::span<const uint8_t> chunk_offsets;
    bool long_offsets = false;      // chunk_offsets are 64-bit (co64)
    std::span<const uint8_t> stss;  // numbers of the sync samples
    bool all_sync = true;           // no stss
};

void write_ftyp(BoxWriter& w, std::span<const Track> tracks);
void write_fragmented_moov(BoxWriter& w, std::span<const Track> tracks);
// tables: one for each track. movie_timescale: that of the edits.
void write_plain_moov(BoxWriter& w, std::span<const Track> tracks, std::span<const SampleTables> tables,
                      uint32_t movie_timescale = kMovieTimescale);

// The bytes that precede a stream's media segments: ftyp and moov.
std::vector<uint8_t> init_segment(std::span<const Track> tracks);

// The head of a recording that will be finished (finisher.h): ftyp, room for what the finisher writes, moov. The moov
// begins at `moov_at`, a multiple of the file system's block size so that more room can be inserted without copying.
inline constexpr size_t kRecordingHead = 64 * 1024;
std::vector<uint8_t> recording_head(std::span<const Track> tracks, size_t moov_at = kRecordingHead);

// Sample flags of trun and trex (8.8.3.1).
inline constexpr uint32_t kSyncSample = 0x02000000;        // does not depend on other samples
inline constexpr uint32_t kNonSyncSample = 0x01010000;     // depends on other samples
inline constexpr uint32_t kDisposableSample = 0x00800000;  // no other sample depends on it

}  // namespace mp4
