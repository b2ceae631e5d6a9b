#pragma once
// SegmentTimeline: the segments of a stream, which are the same in all its playlists: those that playlists name, and
// those that have left them but must stay available to players with an older one (RFC 8216, 6.2.2). It maintains the
// media and discontinuity sequence numbers, which never decrease. Where a segment's bytes are, and whether they were
// lost, is each rendition's business (segment_list.h). Pure: the caller provides the clock.

#include <cstdint>
#include <deque>

namespace service::hls {

struct Segment {
    int64_t duration_ms = 0;
    int64_t wall_ms = 0;         // at its beginning; 0: from an earlier run
    bool discontinuity = false;  // before it
    bool independent = true;
    int64_t added_ms = 0;  // monotonic; 0: from an earlier run
};

struct SegmentTimelineOptions {
    int64_t window_ms = 60'000;
    int64_t target_ms = 10'000;  // the target duration's least
    // The most that the playlists name, and as many that have left them: a publisher's times may stand still.
    size_t max_segments = 1'000;
};

class SegmentTimeline {
  public:
    // Of a segment, in the order of the segments. It is known before the segment's number, which depends on what an
    // earlier run has left.
    using Id = uint64_t;
    static constexpr Id kFirstId = Id{1} << 32;  // of this run

    // Of a playlist: segments, and target durations (RFC 8216, 6.2.2).
    static constexpr size_t kMinSegments = 3;
    static constexpr int64_t kMinTargets = 3;
    // A publisher's times may stand still, so a segment also leaves after this many windows by the clock.
    static constexpr int64_t kMaxWindows = 10;

    explicit SegmentTimeline(const SegmentTimelineOptions& options) : options_(options) {}

    // A new publishing begins: the target duration may shrink to that of the segments present.
    void begin();
    Id add(Segment segment, int64_t now_ms);
    // Puts what was read of an earlier run before what there is.
    void recover(uint64_t media_sequence, uint64_t discontinuity_sequence, const std::deque<Segment>& segments);
    // While there is no segment of an earlier run: the first one has at least that number.
    void skip_to(uint64_t sequence);
    // The next segment is not continuous with the one before.
    void break_here() { breaks_ = true; }
    // Forgets those that no player needs any more. all: each one, without waiting.
    void expire(int64_t now_ms, bool all = false);

    Id kept() const { return kept_; }                    // the oldest that is available
    Id listed() const { return kept_ + left_; }          // the first in playlists
    Id end() const { return kept_ + segments_.size(); }  // behind the newest
    bool empty() const { return listed() == end(); }
    const Segment& at(Id id) const { return segments_[id - kept_].segment; }
    // Their numbers in playlists.
    uint64_t sequence(Id id) const { return id - kFirstId + base_; }
    Id id_of(uint64_t sequence) const { return sequence - base_ + kFirstId; }
    // Of a playlist that begins with that one.
    uint64_t discontinuities(Id id) const;
    int64_t target_s() const;

  private:
    struct Row {
        Segment segment;
        int64_t until_ms = 0;  // once it has left
    };
    void leave(int64_t now_ms);
    bool first_is_over(int64_t now_ms) const;
    int64_t listed_ms() const;

    SegmentTimelineOptions options_;
    Id kept_ = kFirstId;
    size_t left_ = 0;               // of segments_, the first ones
    uint64_t base_ = 0;             // the number of kFirstId
    uint64_t discontinuities_ = 0;  // of the segments before kept_
    int64_t longest_ms_ = 0;
    bool breaks_ = false;
    std::deque<Row> segments_;
};

}  // namespace service::hls
