#include "live/hub/read_interval.h"

#include <algorithm>
#include <utility>

#include "live/hub/stream.h"

namespace live {

void ReadInterval::record_read(int64_t now_us, size_t bytes) {
    constexpr int64_t kShortestUs = 4000;  // what comes in two reads at once says nothing
    uncounted_bytes_ += bytes;
    const int64_t elapsed_us = now_us - last_read_us_;
    if (elapsed_us < kShortestUs) return;
    const int64_t rate = static_cast<int64_t>(std::exchange(uncounted_bytes_, 0)) * 1'000'000 / elapsed_us;
    last_read_us_ = now_us;
    bytes_per_s_ += (rate - bytes_per_s_) / 4;
}

void ReadInterval::record_media(int64_t now_us) {
    if (first_media_us_ == 0) first_media_us_ = now_us;
    last_media_us_ = now_us;
}

bool ReadInterval::starts() const {
    // The sender of a new connection needs acknowledgements, which come with the reads, to increase its rate.
    constexpr int64_t kStartUs = 2'000'000;
    return first_media_us_ == 0 || last_media_us_ - first_media_us_ < kStartUs;
}

int64_t ReadInterval::wanted_ms(const Stream& stream, const Options& options) {
    // What is made of the frames at once, WebRTC's packets, waits so long.
    constexpr int64_t kShortMs = 40;
    if (options.min_latency) return stream.is_followed() ? 0 : kLongMs;
    if (stream.rtp_wanted()) return std::min(options.merge_ms / 8, kShortMs);
    // Each round over the viewers begins with a read.
    if (stream.has_logs() && !stream.has_sinks()) return options.merge_ms;
    return std::min(options.merge_ms / 2, kLongMs);
}

int64_t ReadInterval::ms(const Stream& stream, const Options& options) const {
    // A read brings this much at most: half of what a sender may have in flight before its window has grown.
    constexpr int64_t kBytesPerRead = 32 * 1024, kSoonestMs = 5;
    if (starts()) return 0;
    const int64_t interval_ms = wanted_ms(stream, options);
    if (bytes_per_s_ == 0 || interval_ms <= kSoonestMs) return interval_ms;
    return std::clamp(kBytesPerRead * 1000 / bytes_per_s_, kSoonestMs, interval_ms);
}

}  // namespace live
