#pragma once
// SegmentTimeline: the segments of a stream, which are the same in all its playlists: those that playlists name, those
// that have left them but must stay available to players with an older one (RFC 8216, 6.2.2), and the one that is still
// open. With low latency they have parts (draft-pantos-hls-rfc8216bis, 4.4.4.9). It maintains the
// media and discontinuity sequence numbers, which never decrease, and what may not change during a playlist's life: the
// target duration, and whether segments begin with keyframes. Where a segment's bytes are, and whether they were lost,
// is each rendition's business (segment_list.h). Pure: the caller provides the clocks.
//
// Dates are those of one pair of times, of the stream and of the wall clock, which is taken where a publishing begins
// and at each discontinuity. So they are in step with the durations, and the same in all playlists.
//
// Parts have numbers that run on over all segments, also over those that are lost: the name of a part is known before
// it is known whether it belongs to the open segment or begins the next one.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "media/time.h"

namespace convert {

struct Part {
    media::Time start{};       // by the stream's times: the end of the part before
    media::Time duration{};    // at most SegmentTimeline::part_target()
    bool independent = false;  // it begins with a keyframe, or has no video
    bool gap = false;          // the stream paused: there is nothing to fetch in any rendition
};

// The times of the stream and of the wall clock at the beginning of a run of segments without a discontinuity.
struct ClockPair {
    media::Time start{};
    int64_t wall_ms = 0;  // 0: from an earlier run
    friend bool operator==(const ClockPair&, const ClockPair&) = default;
};

struct Segment {
    media::Time start{};         // by the stream's times
    media::Time duration{};      // to the next one's start; of the open one: 0
    int64_t wall_ms = 0;         // when it began to arrive; 0: from an earlier run
    int64_t date_ms = 0;         // the wall clock at its start, as the playlist says it; 0: not known
    ClockPair clock{};           // that the date is made of
    bool discontinuity = false;  // before it
    bool gap = false;            // the stream paused: no rendition has it
    int64_t added_ms = 0;        // monotonic; 0: it is open, or from an earlier run
    uint64_t first_part = 0;     // the number of its first part
    std::vector<Part> parts{};   // that have ended; together as long as it. Empty: there are none, or none any more
};

struct SegmentTimelineOptions {
    int64_t window_ms = 60'000;
    int64_t target_ms = 10'000;  // the target duration's least
    // The most that the playlists name, and as many that have left them: a publisher's times may stand still.
    size_t max_segments = 1'000;
    bool independent = true;  // segments begin with keyframes, or have no video
    // A segment may be longer than the target duration, which then grows: it waits for a keyframe.
    bool grows = false;
    // The first segment is no longer than configured either.
    bool fixed = false;
    uint64_t first_part = 0;  // the number of the first part: above those of an earlier run
    // What has left stays at least so long, and so many segments at least are there: for DASH, which has a window of
    // its own.
    int64_t kept_ms = 0;
    size_t kept_segments = 0;
};

// Where another process of the server goes on.
struct Continuation {
    media::Time start{};      // of its first segment, which is made anew there
    bool at_keyframe = true;  // or behind the audio frame of that time: a stream without video
    ClockPair clock{};        // that its date is made of
    uint64_t first_part = 0;  // the number of its first part
    uint64_t parts_end = 0;   // the parts before that one are known to players, of that segment too
    bool breaks = false;      // there is a discontinuity before it
    friend bool operator==(const Continuation&, const Continuation&) = default;
};

// What the playlist of an earlier run has, or all that another process of the server leaves.
struct LeftTimeline {
    uint64_t media_sequence = 0;
    uint64_t discontinuity_sequence = 0;
    int64_t target_s = 0;
    bool independent = true;
    std::deque<Segment> segments{};
    media::Time part_target{};  // 0: it had no parts
    // It goes on with the frame of that time, without a discontinuity but for Continuation::breaks.
    std::optional<Continuation> continuation{};
    // Of another process: so many of the segments have left the playlists, and the first part that can be fetched.
    size_t left = 0;
    uint64_t parts_kept = 0;
};

// Where a list begins, or goes on.
struct ListPosition {
    uint64_t sequence = 0;
    uint64_t discontinuities = 0;  // before the segment, its own included
    int64_t target_s = 0;          // the target duration's least
    int64_t date_ms = 0;           // the wall clock at the segment's start
};

class SegmentTimeline {
  public:
    // Of a segment, in the order of the segments.
    using Id = uint64_t;
    static constexpr Id kFirstId = Id{1} << 32;  // of this run

    // Of a playlist: segments, and target durations (RFC 8216, 6.2.2).
    static constexpr size_t kMinSegments = 3;
    static constexpr int64_t kMinTargets = 3;
    // A part is listed for three target durations, and can be fetched for as many more.
    static constexpr int64_t kPartTargets = 6;
    // A publisher's times may stand still, so a segment also leaves after this many windows by the clock.
    static constexpr int64_t kMaxWindows = 10;

    // A segment whose duration rounds to the target duration at most is no longer than this more (4.3.3.1).
    static constexpr media::Time kRoundedDown = std::chrono::milliseconds(490);

    explicit SegmentTimeline(const SegmentTimelineOptions& options)
        : options_(options),
          independent_(options.independent),
          next_part_(options.first_part),
          parts_kept_(options.first_part) {}

    // A new publishing begins. anew: the playlists have ended, and their target duration is chosen again.
    void begin(bool anew);
    // Begins a segment; it has the id end() until it is closed. date_ms of it is the wall clock at its start, as far as
    // its arrival tells; what becomes of it: see above.
    void open(Segment segment);
    // A part of the open segment has ended, of which each rendition has got its bytes. Returns the part's number.
    uint64_t end_part(const Part& part);
    // The open segment is complete.
    Id close(media::Time duration, int64_t now_ms);
    // The open segment is given up. Only where it has no parts, which players may know: close() it otherwise.
    void abandon();
    // Before the first segment: what an earlier run has left. Its target duration stays, unless it is too short now.
    void recover(const LeftTimeline& left, int64_t now_ms = 0);
    // For another process: the segments before `end` that one list has, and none that is open.
    LeftTimeline left_before(Id end) const;
    // The stream does not go on as LeftTimeline::continuation says: behind a discontinuity. parts: so many numbers of
    // parts are not used.
    void break_off(uint64_t parts);
    // The parts that are made from now on are no longer than that. It stays for a playlist's life.
    void set_part_target(media::Time target) { part_target_ = target; }
    // While there is no segment of an earlier run: the first one has at least that number.
    void skip_to(uint64_t sequence);
    // Of the open segment.
    ListPosition position() const;
    // Another list begins with the open segment, at that position; at its own number if that is higher. Those before
    // leave. Without an effect where they go on to that position.
    void continue_at(const ListPosition& position, int64_t now_ms);
    // Another playlist of the same group has a longer target duration, which is to be that of all. False: it is no
    // shorter than that, or does not grow.
    bool raise_target(int64_t target_s);
    // The next segment is not continuous with the one before.
    void break_here() { breaks_ = true; }
    // Forgets those that no player needs any more. all: each one, without waiting.
    void expire(int64_t now_ms, bool all = false);

    Id kept() const { return kept_; }                    // the oldest that is available
    Id listed() const { return kept_ + left_; }          // the first in playlists
    Id end() const { return kept_ + segments_.size(); }  // behind the newest that is complete
    bool empty() const { return listed() == end(); }
    const Segment& at(Id id) const { return segments_[id - kept_].segment; }
    // The open one, whose id is end(). Null: there is none.
    const Segment* open_segment() const { return open_ ? &*open_ : nullptr; }
    uint64_t next_part() const { return next_part_; }    // the number of the next part
    uint64_t parts_kept() const { return parts_kept_; }  // that of the oldest part that can be fetched
    // EXT-X-PART-INF. 0: there are no parts.
    media::Time part_target() const { return part_target_; }
    // Their numbers in playlists.
    uint64_t sequence(Id id) const { return id - kFirstId + base_ + (id >= jump_at_ ? jump_ : 0); }
    Id id_of(uint64_t sequence) const { return sequence - base_ + kFirstId; }
    // Of a playlist that begins with that one.
    uint64_t discontinuities(Id id) const;
    // It is chosen with the first segment of a playlist: as configured, or as long as that segment is, so that a
    // publisher's usual distance of keyframes fits, but for SegmentTimelineOptions::fixed. After that it does not
    // change, but for SegmentTimelineOptions::grows.
    int64_t target_s() const;
    // The longest that a segment may be. Nothing: there is no such limit, or the target duration is not chosen yet.
    std::optional<media::Time> longest() const;
    // EXT-X-INDEPENDENT-SEGMENTS.
    bool independent() const { return independent_; }

  private:
    struct Row {
        Segment segment;
        int64_t until_ms = 0;  // once it has left
    };
    void choose_target();
    void drop_old_parts();
    void set_date(Segment& segment);
    void leave(size_t count, int64_t now_ms);  // the oldest, as many as there are
    bool first_is_over(int64_t now_ms) const;
    media::Time listed_length() const;
    int64_t configured_s() const { return (options_.target_ms + 999) / 1'000; }

    SegmentTimelineOptions options_;
    bool independent_;
    Id kept_ = kFirstId;
    size_t left_ = 0;    // of segments_, the first ones
    uint64_t base_ = 0;  // the number of kFirstId
    Id jump_at_ = 0;     // from this one on numbers are greater, by that
    uint64_t jump_ = 0;
    uint64_t discontinuities_ = 0;  // of the segments before kept_
    int64_t target_s_ = 0;          // 0: not chosen yet
    bool breaks_ = false;
    bool continues_ = false;          // the next publishing is that of the segments before
    std::optional<ClockPair> clock_;  // nothing: the next segment gives it
    int64_t date_end_ms_ = 0;         // of the newest segment: dates do not go back
    std::optional<Segment> open_;
    media::Time part_target_{};
    uint64_t next_part_, parts_kept_;
    std::deque<Row> segments_;
};

}  // namespace convert
