#pragma once
// Movie fragments (ISO/IEC 14496-12, 8.8; CMAF, ISO/IEC 23000-19, 7.3.2): frames in, moof and mdat out. Payloads are
// referenced, never copied. It does not decide where a fragment ends, writes no file and has no clock.
//
//   FragmentBuilder builder;
//   TRY(builder.set_header(video_sequence_header)); TRY(builder.set_header(audio_sequence_header));
//   file.append(builder.init_segment());
//   each frame:  if (this frame begins another fragment)
//                    for (auto bytes : builder.cut({...}).pieces) file.append(bytes);
//                TRY(builder.add(frame));
//   at the end:  cut() once more.
//
// A track is identified by Frame::kind and Frame::track; its id in the file follows the order of the set_header()
// calls. Fragments of several builders, each of one track with an id of its own, are one file together.
//
// Times: video keeps the stream's. Audio counts samples: a frame begins at the end of the previous one as long as its
// time agrees within half a frame (at least 2 ms), so that jitter neither shows nor accumulates; otherwise, after a
// gap, it begins at its own time. A sample lasts until the next one of its track. The last sample of a fragment: audio
// has its own number of samples; video lasts until CutOptions::next_video_dts, or, if that is not set for its track, as
// long as the sample before it (40 ms if there is none). The start time of the next fragment does not depend on it.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "media/frame.h"
#include "protocol/mp4/moov.h"
#include "protocol/mp4/track.h"

namespace mp4 {

// The box at the front of a media segment ("styp").
std::span<const uint8_t> segment_type();

struct CutOptions {
    uint32_t sequence = 0;  // the fragment's number in its file; 0: one more than the builder's last
    // The dts of the video frame that begins the next fragment, and the track of this frame.
    std::optional<media::Time> next_video_dts = std::nullopt;
    uint8_t next_video_track = 0;
    // Adds a mark after the fragment that tells the finisher that the fragment was written completely: for recordings.
    bool seal = false;
};

struct FragmentBytes {
    // In order. Valid until the builder's next add() or cut() or its destruction. Empty when there was nothing to cut.
    std::span<const std::span<const uint8_t>> pieces;
    size_t size = 0;  // of all
};

class FragmentBuilder {
  public:
    // add() fails for a fragment that would be larger than this: cut more often.
    static constexpr size_t kMaxBytes = 1u << 30;

    // origin is subtracted from each dts; a time before it becomes 0. first_id: of its first track.
    explicit FragmentBuilder(media::Time origin = {}, uint32_t first_id = 1) : origin_(origin), first_id_(first_id) {}

    // Of the header's kind and track: creates a track from a sequence header, or, where the codec has none (MP3, Opus,
    // AC-3), from its first frame, which must be passed to add() too. Or applies a track's new header: true when the
    // track changed, and moov() must be written before the next fragment (call cut() for the frames added so far before
    // this). An error that is not kProtocol: a new file is needed. keyframe: of this track, see make_track.
    base::Result<bool> set_header(const media::Frame& header, const media::Frame* keyframe = nullptr);
    // The language (ISO 639-2 or BCP 47) and the label of a track, which must exist; empty: not known. See track.h for
    // what is taken of them. True: something changed, and moov() must be written before the next fragment.
    bool set_names(media::Kind kind, uint8_t index, std::string_view language, std::string_view label);
    std::span<const Track> tracks() const { return tracks_; }
    bool has(media::Kind kind) const;  // any track of the kind
    bool has(media::Kind kind, uint8_t index) const { return number(kind, index) != 0; }

    std::vector<uint8_t> init_segment() const { return mp4::init_segment(tracks_); }
    std::vector<uint8_t> recording_head(size_t moov_at = kRecordingHead) const {
        return mp4::recording_head(tracks_, moov_at);
    }
    // The moov alone: to be written when a recording's tracks or sample entries changed. Players ignore it, the
    // finisher uses the last one.
    std::vector<uint8_t> moov() const;

    // Adds a frame with a payload (not a header) to the track of its kind and index, which must exist. In each track
    // dts must not decrease.
    base::Result<void> add(const media::Frame& frame);
    bool empty() const { return samples() == 0; }
    size_t bytes() const { return spent_ ? 0 : bytes_; }    // of the payloads added since the last cut
    size_t samples() const { return spent_ ? 0 : count_; }  // likewise
    // From the dts of the first added frame to that of the last; 0 without frames.
    media::Time span() const { return empty() ? media::Time(0) : last_dts_ - first_dts_; }
    uint32_t sequence() const { return sequence_; }  // of the next fragment, from 1

    FragmentBytes cut(const CutOptions& options = {});
    // What was cut last, of a builder with one track, in ticks of it: when its first sample is decoded and presented,
    // and when its last sample ends. Until the next add().
    struct Extent {
        int64_t begin = 0, presented = 0, end = 0;
    };
    Extent extent() const;

  private:
    struct Sample {
        base::Slice payload;
        int64_t ticks = 0;
        uint32_t duration = 0;  // until the next sample; an estimate for the last one
        uint32_t flags = 0;
        int32_t cts = 0;
    };
    struct TrackBuffer {
        std::vector<Sample> samples;
        size_t bytes = 0;
        bool any = false;        // the track has received a sample
        int64_t next_ticks = 0;  // expected time of the next sample: the end of the last one
        uint32_t last_duration = 0;
        int64_t last_ticks = 0;
    };
    // What the samples of a fragment have in common, which decides which fields each trun entry has.
    struct Shape {
        uint32_t tfhd_flags = 0;
        uint32_t trun_flags = 0;
        size_t sample_size = 0;  // bytes of a trun entry
        size_t tfhd_size = 0;
        size_t traf_size = 0;
    };

    // The number of a track, from 1; 0: there is none. Frame::track is less than kMaxTracks.
    size_t number(media::Kind kind, uint8_t index) const { return numbers_[static_cast<size_t>(kind)][index]; }
    int64_t sample_time(const Track& track, const TrackBuffer& buffer, media::Time time, uint32_t usual) const;
    void set_last_duration(const Track& track, TrackBuffer& buffer, const CutOptions& options);
    static Shape shape_of(const Track& track, const TrackBuffer& buffer);
    static uint8_t* put_traf(uint8_t* p, const Track& track, const TrackBuffer& buffer, const Shape& shape,
                             uint32_t data_offset);
    void drop_spent();

    media::Time origin_;
    uint32_t first_id_;
    std::vector<Track> tracks_;
    std::vector<TrackBuffer> buffers_;                                 // parallel to tracks_
    std::array<std::array<uint8_t, media::kMaxTracks>, 3> numbers_{};  // by kind and Frame::track
    uint32_t sequence_ = 1;
    size_t bytes_ = 0;
    size_t count_ = 0;
    media::Time first_dts_{};
    media::Time last_dts_{};
    bool spent_ = false;  // the buffers' samples belong to the last cut
    std::vector<uint8_t> head_;
    std::vector<std::span<const uint8_t>> pieces_;
};

}  // namespace mp4
