#pragma once
// Time: a moment on a stream's timeline, or a duration. Its unit is 1/705,600,000 s: a millisecond, a tick of 90 kHz, a
// sample of every usual audio rate (7,350 to 192,000 Hz) and a frame of 24000/1001 or 60000/1001 a second are whole
// numbers of it. A time is therefore converted between formats without rounding, and is rounded once, to the nearest
// tick of the format that is written. 64 bits reach 400 years. Milliseconds convert to it implicitly: `Time limit =
// std::chrono::seconds(2)`.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ratio>

namespace media {

using Time = std::chrono::duration<int64_t, std::ratio<1, 705'600'000>>;

// The limit of times from outside, 136 years on both sides of 0: distances and sums of times do not overflow.
inline constexpr int64_t kMaxSeconds = int64_t{1} << 32;

// A time before every time of a stream: not known yet.
inline constexpr Time kNoTime = Time::min();

// A time in ticks of a format (`rate` a second, at most 2^32), rounded to the nearest; a half is rounded up. Later
// times give no smaller ticks.
constexpr int64_t to_ticks(Time time, int64_t rate) {
    constexpr int64_t kUnit = Time::period::den;
    int64_t seconds = time.count() / kUnit;
    int64_t rest = time.count() % kUnit;
    if (rest < 0) {
        rest += kUnit;
        --seconds;
    }
    return seconds * rate + (rest * rate + kUnit / 2) / kUnit;
}

// The time of this many ticks, at most 2^32 a second; exact for the rates named above, else rounded to the nearest. It
// is limited to kMaxSeconds on both sides of 0.
constexpr Time from_ticks(int64_t ticks, int64_t rate) {
    constexpr int64_t kUnit = Time::period::den;
    int64_t seconds = ticks / rate;
    int64_t rest = ticks % rate;
    if (rest < 0) {
        rest += rate;
        --seconds;
    }
    seconds = std::clamp(seconds, -kMaxSeconds, kMaxSeconds);
    return Time(seconds * kUnit + (rest * kUnit + rate / 2) / rate);
}

constexpr int64_t to_ms(Time time) {
    using std::chrono::milliseconds;
    constexpr Time kHalf = Time(milliseconds(1)) / 2;
    return std::chrono::floor<milliseconds>(time + kHalf).count();
}
constexpr int64_t to_us(Time time) { return to_ticks(time, 1'000'000); }
constexpr Time from_ms(int64_t ms) {
    return std::chrono::milliseconds(std::clamp(ms, -kMaxSeconds * 1'000, kMaxSeconds * 1'000));
}
constexpr Time from_us(int64_t us) { return from_ticks(us, 1'000'000); }

// The absolute value of a distance between two times.
constexpr Time distance(Time a, Time b) { return a < b ? b - a : a - b; }

}  // namespace media
