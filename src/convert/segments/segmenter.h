#pragma once
// Segmenter: decides where the segments of a stream begin and end, which tracks they have and where a discontinuity is.
// It passes the frames through unchanged between open_segment() and close_segment(); only video before the first
// keyframe is dropped. Pure: the caller provides the clocks. It knows no format, file or playlist.
//
//  - A segment ends at the first keyframe at which it is `fragment` long; without video, at any frame after aof_ratio
//    times that. It waits for a keyframe no longer than longest_wait_ms(), and is no longer than set_longest() says: a
//    keyframe ends it earlier where the next one, as far away as the last, would come too late.
//  - At the beginning, frames are held until the tracks are known, at most one second. Another track that is new, or
//    has a new configuration, is held until the next keyframe of the first video track, so that segments begin with
//    keyframes. New video begins a segment at once.
//  - Every wait is limited by the stream's time and by the clock. Held frames are limited in number and bytes.
//  - Publishers decide about times and tracks, but not about the number of small segments: at most kMaxAtOnce below
//    kSmallBytes, and then one each kMsPerSegment by the clock. Beyond that segments get longer; where one must end all
//    the same, what follows is dropped until the next may begin.
//  - With low latency a segment has parts. A part ends before the frame with which it would be longer than the part
//    target, which is chosen at the beginning, from the frames that are held, and stays. Where the stream pauses for
//    longer, the part's end is the longest that it may be, and the pause is parts without a frame. While nothing comes
//    segments of such parts are made by the clock: also between two publishings, until end_gaps(). A stream that goes
//    on with times before their end begins behind a discontinuity.
//  - Where the stream says that times jumped: if they did (time_jitter off), the segment ends at once. If the stream
//    has corrected them, or a publisher has returned, the next segment has a discontinuity.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "convert/segments/segment_timeline.h"
#include "media/per_track.h"
#include "media/track_set.h"

namespace convert {

struct CutOptions {
    int64_t fragment_ms = 10'000;
    double aof_ratio = 2.1;
    bool wait_keyframe = true;
    bool ts_floor = false;                   // cut at multiples of fragment_ms of the wall clock
    uint64_t max_bytes = 256 * 1024 * 1024;  // of a segment's payload; beyond it the segment is cut anywhere
    int64_t part_ms = 0;                     // about the length of parts; 0: there are none
};

// When a frame arrived, by both clocks. Only the wall clock may be set to another time: it gives a segment its date,
// and with ts_floor its end.
struct Arrival {
    int64_t monotonic_ms = 0;
    int64_t wall_ms = 0;
};

struct Opening {
    const media::TrackSet& tracks;
    const media::Frame& first;  // the segment's first frame
    bool tracks_changed;        // since the last segment, or this is the first
    bool discontinuity;
    int64_t wall_ms;  // at this call
    // When the first frame was due, had all those that were held arrived as fast as they play. By the wall clock.
    int64_t date_ms;
};

struct PartEnd {
    Part part;
    // The dts of the video frame that begins the next part, if one does.
    std::optional<media::Time> next_video_dts;
};

struct Closing {
    media::Time duration;
    // The dts of the video frame that begins the next segment, if one does.
    std::optional<media::Time> next_video_dts;
};

class SegmentSink {
  public:
    virtual void open_segment(const Opening& opening) = 0;
    virtual void write_frame(const media::Frame& frame) = 0;
    // A segment without a frame, from the end of the last part on: the stream pauses.
    virtual void open_gap(media::Time start) = 0;
    // Of the open segment. Its last part ends before it is closed.
    virtual void end_part(const PartEnd& end) = 0;
    virtual void close_segment(const Closing& closing) = 0;

  protected:
    ~SegmentSink() = default;
};

class Segmenter {
  public:
    static constexpr int64_t kMaxHeldMs = 5'000;
    static constexpr media::Time kTracksKnown = std::chrono::seconds(1);
    static constexpr media::Time kRetry = std::chrono::seconds(1);
    static constexpr size_t kMaxHeldBytes = 16 * 1024 * 1024;
    static constexpr int64_t kMaxAtOnce = 100, kMsPerSegment = 50;
    static constexpr uint64_t kSmallBytes = 16 * 1024;  // of payload
    // Of parts without a frame in one call: after a clock that has leapt the rest of the time has none.
    static constexpr int kMaxGapsAtOnce = 100;

    Segmenter(const CutOptions& options, SegmentSink& sink) : options_(options), sink_(sink) { forget_last(); }

    // A publishing begins; after an earlier one with a discontinuity.
    void begin();
    // The part target is chosen again, with the next publishing. After end_gaps().
    void forget_part_target() { part_target_ = {}; }
    // That of an earlier run, unless it was chosen.
    void keep_part_target(media::Time target) {
        if (part_target_ == media::Time(0)) part_target_ = target;
    }
    // From the first opening of a segment on. 0: there are no parts.
    media::Time part_target() const { return part_target_; }
    // The longest that a segment may be, from the open one on. Nothing: as long as it waits for a keyframe.
    void set_longest(std::optional<media::Time> longest) { longest_ = longest.value_or(kAnyLength); }
    // Tells whether the open segment has to end before a keyframe of that time, however short it is.
    void set_end(std::function<bool(media::Time)> ends_before) { ends_before_ = std::move(ends_before); }
    // A stream without video: the open segment ends before the next frame, as soon as the number of segments allows it.
    void end_at_next_audio() { ends_at_next_audio_ = true; }
    // The stream's tracks from the next frame on.
    void set_tracks(const base::Ref<media::TrackSet>& tracks);
    // Data frames are ignored.
    void feed(const media::Frame& frame, const Arrival& arrival);
    // Called by the sink, also from within its own calls: the open segment cannot be written. It is abandoned without
    // close_segment(), and the next one begins at least a second later.
    void lost();
    void end();
    // held_bytes(): memory of the held frames, in bytes. release_held(): stops waiting and writes them.
    size_t held_bytes() const { return held_bytes_; }
    const media::Frame* oldest_held() const { return held_.empty() ? nullptr : &held_.front(); }
    void release_held();
    // Called periodically, to limit the time for which frames are held while no new frame arrives, and at gap_due_ms(),
    // after which the stream pauses. INT64_MAX: there are no parts, or nobody waits for them.
    void tick(int64_t monotonic_ms);
    int64_t gap_due_ms() const;
    // The stream is not expected to go on: a pause has no parts any more, until it does.
    void end_gaps();

    bool open() const { return state_ == State::kOpen; }
    int64_t longest_wait_ms() const;

  private:
    // Differences between it and distances of times do not overflow.
    static constexpr media::Time kAnyLength = std::chrono::seconds(media::kMaxSeconds);
    // kPaused: frames are expected, but the segment that had the last one is closed.
    enum class State : uint8_t { kIdle, kStarting, kOpen, kPaused, kLost };
    // kBeforeJump: a frame of the track that has not jumped yet.
    enum class Fit : uint8_t { kFits, kBeforeJump, kJumps };

    void starting(const media::Frame& frame);
    bool can_start(const media::Frame& newest) const;
    void start();
    void running(const media::Frame& frame);
    void hold(const media::Frame& frame);
    void keep(const media::Frame& frame);
    bool held_enough() const;
    std::deque<media::Frame> take_held();
    void retry(const media::Frame& frame);
    void compare_tracks();
    void jump(const media::Frame& frame);
    bool exhausted() const;
    bool may_begin() const { return now_.monotonic_ms >= next_begin_ms_ - (kMaxAtOnce - 1) * kMsPerSegment; }
    Fit fit(const media::Frame& frame);
    media::Time end_dts() const;
    bool video_flows(media::Time dts) const;
    bool due(const media::Frame& frame) const;
    bool is_leading(const media::Frame& frame) const;
    bool would_be_too_long(const media::Frame& frame) const;
    bool is_long_enough(media::Time elapsed, int64_t wanted_ms) const;
    void choose_part_target(const std::deque<media::Frame>& frames);
    void end_parts_before(const media::Frame& frame);
    void end_part(media::Time end, std::optional<media::Time> next_video_dts);
    media::Time patience() const;
    void learn_silence();
    void pass_part();
    void extend_gap(media::Time to);
    void close_gap();
    void resume(const media::Frame& frame);
    void write_to_part(const media::Frame& frame);
    void cut(const media::Frame& frame);
    void open_at(const media::Frame& frame);
    void close(media::Time end_dts, std::optional<media::Time> next_video_dts);
    void write(const media::Frame& frame);
    media::Time& last_of(const media::Frame& frame) { return last_.at(frame.kind, frame.track); }
    media::Time main_video_last() const { return last_.at(media::Kind::kVideo, 0); }
    void forget_last();

    CutOptions options_;
    SegmentSink& sink_;
    std::function<bool(media::Time)> ends_before_;
    State state_ = State::kIdle;
    Arrival now_{};
    base::Ref<media::TrackSet> next_ = base::make_ref<media::TrackSet>();    // the current tracks
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();  // the open segment's tracks
    bool new_video_ = false;     // the first video track of next_ differs from that of tracks_
    bool new_others_ = false;    // another track does
    bool has_keyframe_ = false;  // this publishing has had a keyframe
    bool has_segment_ = false;
    bool discontinuity_ = false;
    bool ends_at_next_audio_ = false;
    std::deque<media::Frame> held_;
    size_t held_bytes_ = 0;
    int64_t held_since_ms_ = 0;  // monotonic, of the first held frame

    media::Time start_dts_{};  // of the open segment
    Arrival started_{};
    int64_t next_begin_ms_ = INT64_MIN / 2;  // monotonic, if small segments had begun each kMsPerSegment
    media::Time longest_ = kAnyLength;
    media::Time fed_dts_{};                      // of the newest frame that was fed
    media::Time keyframe_dts_ = media::kNoTime;  // of the last one of the first video track
    uint64_t bytes_ = 0;
    media::Time part_target_{};  // 0: not chosen yet, or there are no parts
    // Of the open part.
    media::Time part_start_{};
    bool part_has_frame_ = false, part_has_video_ = false, part_is_independent_ = false;
    // Pauses.
    bool makes_gaps_ = false;                 // the playlist goes on
    bool gap_open_ = false;                   // a segment without a frame is open
    Arrival fed_{};                           // of the newest frame
    media::Time leading_dts_{};               // of the last frame of the leading track,
    int64_t leading_ms_ = 0;                  // and when it came, monotonic
    int64_t longest_silence_ms_ = 0;          // between frames of this publishing, without pauses
    media::PerTrack<media::Time> last_;       // dts
    media::Time newest_{};                    // the latest dts of any track
    media::Time step_ = media::from_ms(40);   // between the last two frames of the leading track
    std::optional<media::Time> before_jump_;  // times that the other track may still have
    media::Time lost_at_{};
};

}  // namespace convert
