#pragma once
// When things are due: connections of a ramp, and messages of a file that is played in real time, again and again.
// Pure: times are handed in, in microseconds of any clock.

#include <cstdint>

namespace load {

// So many connections per second, evenly; 0 per second: all at once.
class Ramp {
  public:
    Ramp(int64_t start_us, double per_second) : start_us_(start_us), per_second_(per_second) {}
    int64_t due_us(uint32_t i) const {
        return per_second_ > 0 ? start_us_ + static_cast<int64_t>(i * 1e6 / per_second_) : start_us_;
    }

  private:
    int64_t start_us_;
    double per_second_;
};

// A place in a list of messages that is repeated: which message is next, and its time with the rounds before it added.
// The first repeat_from messages (metadata, sequence headers) are sent in the first round only.
class LoopPosition {
  public:
    LoopPosition(uint32_t size, uint32_t repeat_from, uint32_t round_ms)
        : size_(size), repeat_from_(repeat_from), round_ms_(round_ms) {}

    uint32_t index() const { return index_; }
    // What is to be added to the message's own timestamp; wraps as RTMP's timestamps do.
    uint32_t shift_ms() const { return round_ * round_ms_; }
    uint32_t round() const { return round_; }
    // Past the last message, when not looping.
    bool at_end() const { return index_ >= size_; }
    void advance(bool loop) {
        ++index_;
        if (loop && index_ >= size_) {
            index_ = repeat_from_;
            ++round_;
        }
    }

  private:
    uint32_t size_;
    uint32_t repeat_from_;
    uint32_t round_ms_;
    uint32_t index_ = 0;
    uint32_t round_ = 0;
};

}  // namespace load
