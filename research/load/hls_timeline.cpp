#include "load/hls_timeline.h"

#include <algorithm>

namespace load {

void HlsTimeline::on_playlist(const m3u8::MediaPlaylist& playlist, int64_t asked_us) {
    const uint64_t begin = playlist.media_sequence;
    const uint64_t end = begin + playlist.segments.size();
    const int64_t target_us = std::max<int64_t>(playlist.target_duration_s, 1) * 1'000'000;
    const bool is_new = !has_playlist_ || end > end_;
    reload_us_ = asked_us + (is_new ? target_us : target_us / 2);
    if (!has_playlist_) {
        end_ = std::max(begin, end - std::min(end, kFromEnd));
        has_playlist_ = true;
    }
    if (end < end_) ++went_back_;
    if (begin > end_) {
        missed_ += begin - end_;
        end_ = begin;
    }
    for (; end_ < end; ++end_) {
        const m3u8::Segment& segment = playlist.segments[end_ - begin];
        wanted_.push_back({segment.uri, segment.duration_us});
        if (segment.discontinuity) ++discontinuities_;
    }
}

int64_t HlsTimeline::on_segment(int64_t now_us) {
    const int64_t duration_us = wanted_.front().duration_us;
    wanted_.pop_front();
    if (!plays_) {
        buffered_us_ += duration_us;
        plays_ = wanted_.empty();
        plays_until_us_ = now_us + buffered_us_;
        return 0;
    }
    const int64_t stopped_us = std::max<int64_t>(0, now_us - plays_until_us_);
    plays_until_us_ += stopped_us + duration_us;
    return stopped_us;
}

}  // namespace load
