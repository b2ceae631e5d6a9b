#pragma once
// TrackClocks: the RTP timestamps of several tracks as times on one timeline. A track begins by its time of arrival;
// its later times are exact to the tick. Tracks are brought into step by sender reports (RFC 3550, 6.4.1), or before
// these by the timestamps of RTP-Info: a track that begins is put where it belongs, a
// later large correction moves tracks forward only (but for those that may be moved), so that no time goes back, a
// small one is applied in parts. Timestamps that contradict the times of arrival are a jump, and the track continues
// without it; where they stand still, the times of arrival are used. Pure: times are passed in.

#include <cstdint>
#include <optional>
#include <vector>

#include "media/time.h"
#include "protocol/rtp/ntp.h"
#include "protocol/rtp/unwrap.h"

namespace convert {

class TrackClocks {
  public:
    // A larger contradiction between two clocks is an error of one of them.
    static constexpr media::Time kContradiction = std::chrono::seconds(10);
    // The first time: another track's first frame may be a little older.
    static constexpr media::Time kFirst = std::chrono::milliseconds(200);

    explicit TrackClocks(const std::vector<uint32_t>& clock_rates);

    struct Moment {
        media::Time time{};
        bool jumped = false;  // the timestamp is unrelated to the one before
    };
    // The presentation time of a timestamp that came at now_us (microseconds of any monotonic clock).
    Moment at(size_t track, uint32_t timestamp, int64_t now_us);
    // The next timestamp is unrelated to those before: another source.
    void restart(size_t track);
    // Of two tracks that are brought into step, this one is moved, and in both directions: what reads its frames closes
    // gaps and drops what overlaps, as where audio is converted.
    void set_movable(size_t track) { clocks_[track].movable = true; }
    // The timestamps after the newest one count at this rate, whatever the description says.
    void set_rate(size_t track, uint32_t clock_rate);
    uint32_t rate(size_t track) const { return static_cast<uint32_t>(clocks_[track].rate); }
    void on_sender_report(size_t track, uint64_t ntp, uint32_t timestamp);
    void set_rtp_info(size_t track, uint32_t timestamp);

  private:
    // Corrections below this are applied in parts.
    static constexpr media::Time kSmall = std::chrono::milliseconds(60);
    // A track that begins may begin so much before its time of arrival.
    static constexpr media::Time kEarlyBegin = std::chrono::seconds(1);
    // The rounding of timestamps and NTP times.
    static constexpr media::Time kSlack = std::chrono::milliseconds(1);
    // Timestamps that do not move for longer than this stand still.
    static constexpr int64_t kStandsStillUs = 1'000'000;
    // Two reports of a track that contradict its timestamps by this: its wall clock was set.
    static constexpr media::Time kClockSet = std::chrono::milliseconds(200);

    // A timestamp that stands for a moment of a clock that all tracks share.
    struct Mark {
        media::Time moment{};
        uint32_t timestamp = 0;
    };
    struct Clock {
        int64_t rate = 0;
        bool movable = false;
        rtp::TimestampUnwrapper unwrap;
        bool known = false;
        bool jumps = false;    // the next moment is told so
        bool fresh = false;    // no time was returned since it began
        int64_t ticks = 0;     // stands for
        media::Time anchor{};  // this time
        media::Time last{};    // the latest time returned, which came at
        int64_t last_us = 0;
        int64_t newest = 0;          // ticks of the last call
        int64_t moved_us = 0;        // when they were others before
        std::optional<Mark> report;  // the newest sender report
        std::optional<Mark> info;    // RTP-Info
        bool aligned = false;

        // Others are aligned to the one of the least rank.
        int rank() const { return 2 * fresh + movable; }
        media::Time time(int64_t at) const { return anchor + media::from_ticks(at - ticks, rate); }
    };

    void begin(Clock& clock, int64_t ticks, int64_t now_us);
    media::Time by_arrival(const Clock& clock, int64_t now_us) const;
    void align();
    bool align_by(std::optional<Mark> Clock::*mark);
    void correct(Clock& clock, media::Time by);

    std::vector<Clock> clocks_;
    rtp::NtpUnwrapper ntp_;
};

}  // namespace convert
