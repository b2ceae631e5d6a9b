#pragma once
// PublisherLimits: the time limits of a publisher, whatever its protocol: until its first usable audio or video
// (publish.firstpkt_timeout), of a silence after that (normal_timeout), and without players (kickoff_for_idle). Times
// are microseconds of the loop's clock.

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/close_reason.h"
#include "config/snapshot.h"
#include "runtime/loop/deadline.h"

namespace live {

class InputFaults;
class Stream;

class PublisherLimits {
  public:
    // Why a publisher is to be closed.
    struct Passed {
        std::string text;
        base::CloseReason reason;
    };

    PublisherLimits(const config::VhostPublish& publish, int64_t now_us)
        : first_ms_(publish.firstpkt_timeout),
          silence_ms_(publish.normal_timeout),
          idle_s_(publish.kickoff_for_idle),
          began_us_(now_us),
          received_us_(now_us) {}

    // Audio or video that can be used.
    void on_media(int64_t now_us) {
        if (!has_media_) [[unlikely]]
            history_.first_ms = (now_us - began_us_) / 1000;
        else if (now_us - media_us_ >= kStallUs) [[unlikely]]
            record_stall(now_us - media_us_);
        has_media_ = true;
        received_us_ = media_us_ = now_us;
    }
    // What is no frame by itself: after the first media a sign of life.
    void on_input(int64_t now_us) {
        if (has_media_) received_us_ = now_us;
    }
    bool has_media() const { return has_media_; }

    // For the record of its end.
    struct History {
        int64_t first_ms = -1;      // until the first media; -1: none came
        uint32_t stalls = 0;        // how often no media came for kStallUs or longer, and then some did
        int64_t stalled_ms = 0;     // all of them together
        int64_t last_stall_ms = 0;  // wall clock: when the last one ended
    };
    static constexpr int64_t kStallUs = 1'000'000;
    const History& history() const { return history_; }

    // When it counts as silent for too long.
    runtime::Deadline silent_at() const { return runtime::Deadline::at_us(received_us_ + limit_ms() * 1000); }
    // faults: what it sent that could not be used; null: that is not counted.
    std::string silence_text(const InputFaults* faults) const;
    // stream: null: it is not published, or kickoff_for_idle does not apply. Nothing: the publisher goes on.
    std::optional<Passed> passed(int64_t now_us, const Stream* stream, const InputFaults* faults) const;

  private:
    void record_stall(int64_t us) {
        ++history_.stalls;
        history_.stalled_ms += us / 1000;
        history_.last_stall_ms = base::wall_ms();
    }
    int64_t limit_ms() const { return has_media_ ? silence_ms_ : first_ms_; }

    int first_ms_, silence_ms_, idle_s_;
    bool has_media_ = false;
    int64_t began_us_;
    int64_t received_us_;
    int64_t media_us_ = 0;  // the last media
    History history_;
};

}  // namespace live
