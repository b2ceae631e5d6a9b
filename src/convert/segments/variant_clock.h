#pragma once
// VariantClock: one time and one numbering for a group of streams, so that a segment's number, and the times in it,
// mean the same in each (RFC 8216, 6.2.4). Pure: the caller provides the clocks.
//
//  - Each stream's times get an offset, when it is published, that brings them to the group's, which are those of the
//    first one. Renditions that one encoder makes have equal times, and begin at once: they get the same offset, and so
//    does a stream whose frames come when that offset lets expect them. All others are placed by their arrival.
//  - A stream that joins others takes the numbers that their segment has at the time of its first one.
//  - Segments end together: at the first keyframe behind the end of that segment in another stream. Whose keyframes are
//    further apart than the others' segments are long falls behind in numbers.
//  - That makes no segment shorter than half a fragment, and a stream whose times do not go on as the clock does has no
//    effect on others. A stream that is alone has segments as it likes; who joins it goes on from its last one.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "convert/segments/segment_timeline.h"
#include "media/time.h"

namespace convert {

class VariantClock {
  public:
    static constexpr int64_t kStartsTogetherMs = 1'000;
    static constexpr media::Time kSameTimes = std::chrono::milliseconds(500);
    static constexpr media::Time kMaxSlack = std::chrono::milliseconds(100);
    static constexpr media::Time kInStep = std::chrono::seconds(5);
    static constexpr size_t kMaxStarts = 64;  // of segments that are remembered

    // fragment: hls_fragment.
    explicit VariantClock(media::Time fragment) : fragment_(fragment) {}

    // A stream's part in it, from its publishing to its end.
    class Member {
      public:
        Member() = default;
        Member(std::shared_ptr<VariantClock> clock, int64_t now_ms);
        Member(Member&& other) noexcept;
        Member& operator=(Member&& other) noexcept;
        ~Member() { leave(); }

        explicit operator bool() const { return clock_ != nullptr; }
        bool has_offset() const { return offset_.has_value(); }
        // Of its first frames: the least time, and the greatest with its arrival, ms of a monotonic clock.
        void set_offset(media::Time first, media::Time newest, int64_t arrival_ms);
        // A time of the stream as the group's.
        media::Time shared(media::Time dts) const { return dts + *offset_; }
        // A frame has come.
        void arrived(media::Time shared, int64_t arrival_ms);

        // Of a segment that begins there. Nothing: no other stream has any.
        std::optional<ListPosition> position_at(media::Time start) const;
        void begin_segment(const ListPosition& position, media::Time start);
        // Whether the segment of that number ends before a keyframe, because it has ended in another stream.
        bool ends_before(uint64_t sequence, media::Time keyframe) const;

      private:
        friend class VariantClock;
        void leave();

        std::shared_ptr<VariantClock> clock_;
        int64_t began_ms_ = 0;
        std::optional<media::Time> offset_;
        media::Time first_{};               // the least of its first frames' times, by the stream
        std::optional<media::Time> ahead_;  // of its shared times of the monotonic clock
        bool has_segment_ = false;
    };

  private:
    struct Start {
        ListPosition position;
        media::Time at;
        media::Time ahead;  // of the clock, in the stream that began it
    };
    bool others_have_segments(const Member& member) const;
    media::Time slack() const { return std::min<media::Time>(kMaxSlack, fragment_ / 10); }

    const media::Time fragment_;
    std::vector<Member*> members_;
    std::deque<Start> starts_;  // of segments, in the stream that was the first to begin each
};

}  // namespace convert
