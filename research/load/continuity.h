#pragma once
// Continuity: whether the frames of a marked script come one after the other, none left out, none twice, from whichever
// the viewer began with. The script repeats, so what is lost is counted modulo its length.

#include <cstdint>
#include <span>

#include "load/script.h"

namespace load {

class Continuity {
  public:
    // The script that is published, looped; bitrates do not matter.
    static Continuity of(const Script& script) {
        return {script.repeat_from(), static_cast<uint32_t>(script.messages().size())};
    }
    Continuity() = default;  // checks nothing

    void on_frame(uint8_t type, std::span<const uint8_t> head) {
        if (end_ == 0) return;
        const int64_t mark = mark_of(type, head);
        if (mark < first_ || mark >= end_) {
            ++foreign_;
            return;
        }
        const auto number = static_cast<uint32_t>(mark);
        if (frames_++ > 0 && number != next_) {
            const uint32_t round = end_ - first_;
            ++breaks_;
            missing_ += (number + round - next_) % round;
        }
        next_ = number + 1 == end_ ? first_ : number + 1;
    }

    uint64_t frames() const { return frames_; }
    uint32_t breaks() const { return breaks_; }    // places where the order broke
    uint64_t missing() const { return missing_; }  // frames left out there, at least
    uint32_t foreign() const { return foreign_; }  // frames that are not the script's
    bool whole() const { return breaks_ == 0 && foreign_ == 0; }

  private:
    Continuity(uint32_t first, uint32_t end) : first_(first), end_(end) {}
    uint32_t first_ = 0;
    uint32_t end_ = 0;
    uint32_t next_ = 0;
    uint32_t breaks_ = 0;
    uint32_t foreign_ = 0;
    uint64_t frames_ = 0;
    uint64_t missing_ = 0;
};

}  // namespace load
