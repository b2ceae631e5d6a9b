#pragma once
// Segmenter: decides where the segments of a stream begin and end, which tracks they have and where a discontinuity is.
// Frames in, the same frames out between open_segment() and close_segment(); none is lost but video before the first
// keyframe. Pure: the clock is handed in. It knows no format, no file and no playlist.
//
//  - A segment ends at the first keyframe at which it is `fragment` long; without video at any frame after aof_ratio
//    times that. A keyframe that never comes is not waited for longer than longest_ms().
//  - At first frames are held until the tracks are known, a second at most. A new audio track, or a new configuration
//  of
//    it, is held until the next keyframe, so that segments begin with keyframes; new video begins a segment at once.
//  - Whatever is waited for, by the stream's time, is waited for no longer by the clock, and held frames are bounded in
//    number and bytes.
//  - Where times jump by themselves (time_jitter off) the segment ends at once. Where the stream has mended a jump, or
//  a
//    publisher came back, the next segment has the discontinuity.

#include <cstdint>
#include <deque>
#include <optional>

#include "media/frame.h"

namespace service::hls {

struct CutOptions {
    int64_t fragment_ms = 10'000;
    double aof_ratio = 2.1;
    bool wait_keyframe = true;
    bool ts_floor = false;                    // cut by the clock
    uint64_t most_bytes = 256 * 1024 * 1024;  // of a segment's payload; then it is cut anywhere
};

// What a segment holds. Of a codec without sequence header the header is the first frame itself.
struct Tracks {
    std::optional<media::Frame> video;
    std::optional<media::Frame> audio;
};

struct Opening {
    const Tracks& tracks;
    const media::Frame& first;  // the frame that it begins with
    bool tracks_changed;        // since the last segment, or there was none
    bool discontinuity;
    int64_t clock_ms;  // wall clock
};

struct Closing {
    int64_t duration_ms;
    bool independent;  // it begins with a keyframe, or has no video
    // The dts of the video frame that begins the next segment, when one does.
    std::optional<int64_t> next_video_dts;
};

class SegmentSink {
  public:
    virtual void open_segment(const Opening& opening) = 0;
    virtual void write_frame(const media::Frame& frame) = 0;
    virtual void close_segment(const Closing& closing) = 0;

  protected:
    ~SegmentSink() = default;
};

class Segmenter {
  public:
    static constexpr int64_t kMaxHeldMs = 5'000;
    static constexpr int64_t kTracksKnownMs = 1'000;
    static constexpr int64_t kRetryMs = 1'000;
    static constexpr size_t kMaxHeldBytes = 16 * 1024 * 1024;

    Segmenter(const CutOptions& options, SegmentSink& sink) : options_(options), sink_(sink) {}

    // A publishing begins; behind another one with a discontinuity.
    void begin();
    // Sequence headers too. Data frames are passed over.
    void feed(const media::Frame& frame, int64_t clock_ms);
    // The stream mended a jump of its publisher's times before the next frame. The tracks jump one after the other:
    // that is one discontinuity.
    void jumped();
    // The open segment cannot be written, says its sink, also from within its calls: it is forgotten without
    // close_segment(), and the next one begins a second later at the earliest.
    void lost();
    void end();
    // Memory of the frames that are held, bytes; and not waiting any longer for what they wait for.
    size_t held_bytes() const { return held_bytes_; }
    void release_held();
    // From time to time, for what is held while no frame comes.
    void tick(int64_t clock_ms);

    bool open() const { return state_ == State::kOpen; }
    int64_t longest_ms() const;

  private:
    enum class State : uint8_t { kIdle, kStarting, kOpen, kLost };
    // kBeforeJump: of the track that has not jumped yet.
    enum class Fit : uint8_t { kFits, kBeforeJump, kJumps };

    void take_header(const media::Frame& frame);
    // The track of a frame whose codec has no header.
    void note_track(const media::Frame& frame);
    void starting(const media::Frame& frame);
    bool can_start(const media::Frame& newest) const;
    void start();
    void running(const media::Frame& frame);
    void hold(const media::Frame& frame);
    void keep(const media::Frame& frame);
    bool held_enough() const;
    std::deque<media::Frame> take_held();
    void retry(const media::Frame& frame);
    // When next_ or tracks_ changed, not for each frame: it reads whole headers.
    void compare_tracks();
    Fit fit(const media::Frame& frame) const;
    int64_t end_dts() const;
    bool video_flows(int64_t dts) const;
    bool due(const media::Frame& frame) const;
    bool is_long_enough(int64_t elapsed, int64_t wanted) const;
    void cut(const media::Frame& frame);
    void open_at(const media::Frame& frame);
    void close(int64_t end_dts, std::optional<int64_t> next_video_dts);
    void write(const media::Frame& frame);
    int64_t& last_of(const media::Frame& frame) { return last_[frame.kind == media::Kind::kVideo ? 0 : 1]; }

    CutOptions options_;
    SegmentSink& sink_;
    State state_ = State::kIdle;
    int64_t clock_ms_ = 0;
    Tracks next_;             // as known now
    Tracks tracks_;           // of the open segment
    bool new_video_ = false;  // next_'s is not tracks_'s
    bool new_audio_ = false;
    bool video_came_ = false;  // a keyframe of this publishing
    bool any_segment_ = false;
    bool discontinuity_ = false;
    std::deque<media::Frame> held_;
    size_t held_bytes_ = 0;
    int64_t held_since_ms_ = 0;  // wall clock, of the first

    int64_t start_dts_ = 0;  // of the open segment
    int64_t start_clock_ms_ = 0;
    bool independent_ = true;
    uint64_t bytes_ = 0;
    int64_t last_[2] = {INT64_MIN, INT64_MIN};  // dts of video and audio
    int64_t newest_ = 0;                        // the latest dts of any
    int64_t step_ = 40;                         // between the last two frames of the track that leads
    std::optional<int64_t> before_jump_;        // where the other track may still be
    int64_t lost_at_ = 0;
    std::optional<int64_t> mended_at_;  // dts
};

}  // namespace service::hls
