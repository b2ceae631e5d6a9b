#pragma once
// A track of an MP4 file to be written: its codec, its time scale and its sample entries (ISO/IEC 14496-12, 8.5.2; -14
// for AAC and MP3, -15 for H.264 and HEVC; AV1 in ISOBMFF; VP Codec ISO Media File Format Binding; Opus and FLAC in
// ISOBMFF; ETSI TS 102 366, annex F for AC-3). Screen video, Sorenson H.263, VP6, Speex, Nellymoser, ADPCM and G.711
// are not supported in MP4 and are refused.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "media/frame.h"

namespace mp4 {

// Video uses the 90 kHz of RTP and MPEG-TS, in which ms and the usual frame rates are whole numbers. Audio counts
// samples: frames of a constant number of samples then follow each other without a gap.
inline constexpr uint32_t kVideoTimescale = 90'000;

// The most tracks of a file: video and audio.
inline constexpr size_t kMaxTracks = size_t{2} * media::kMaxTracks;

struct Track {
    uint32_t id = 0;  // from 1
    media::Kind kind = media::Kind::kData;
    uint8_t index = 0;  // of its kind: media::Frame::track
    media::Codec codec = media::Codec::kNone;
    uint32_t timescale = 0;    // units per second
    uint32_t frame_ticks = 0;  // audio: the usual duration of a frame; 0 when each frame carries its own
    int width = 0;             // pixels of the largest sample entry; 0: unknown (VP9 without a keyframe)
    int height = 0;
    // Whole boxes ("avc1" with its "avcC", ...). Samples refer to them by index from 1.
    std::vector<std::vector<uint8_t>> entries;
    uint32_t entry = 1;  // the current one
    // As language_tag() and track_label() give them; empty: not known.
    std::string language{};
    std::string label{};
};

// A language by ISO 639-2 ("deu") or BCP 47 ("pt-BR"). Anything else, and "und", is empty: not known.
inline constexpr size_t kMaxLanguage = 35;  // bytes; RFC 5646, 4.4.1
std::string language_tag(std::string_view text);

// What people read, in UTF-8: without control characters, at most kMaxLabel bytes.
inline constexpr size_t kMaxLabel = 255;
std::string track_label(std::string_view text);
// What stands in a file where a track has no label.
inline std::string_view unlabelled(media::Kind kind) { return kind == media::Kind::kVideo ? "video" : "audio"; }

// header: the sequence header; for a codec without one (MP3, Opus, AC-3, VP8), any frame. keyframe: a first keyframe,
// if available: VP9's header does not contain the size, and AV1's not always.
base::Result<Track> make_track(uint32_t id, const media::Frame& header, const media::Frame* keyframe = nullptr);

// Limit of distinct sample entries per track. A publisher that switches back to an earlier configuration reuses its
// entry.
inline constexpr size_t kMaxEntries = 64;

// Applies a new sequence header: true when the current sample entry changed; the entry may be a new or an earlier one.
// An error when the track cannot continue with it: another codec, another audio rate, too many entries.
base::Result<bool> extend_track(Track& track, const media::Frame& header, const media::Frame* keyframe = nullptr);

// The duration of an audio frame in the track's time scale; 0 when the frame does not contain it. Video: 0.
uint32_t frame_ticks(const Track& track, std::span<const uint8_t> payload);

}  // namespace mp4
