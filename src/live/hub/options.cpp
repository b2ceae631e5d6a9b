#include "live/hub/options.h"

#include <algorithm>
#include <cmath>

#include "live/hub/read_interval.h"

namespace live {

LiveOptions live_options(const config::Vhost& vhost) {
    const config::VhostPlay& play = vhost.play;
    LiveOptions options;
    options.gop_cache = play.gop_cache;
    options.gop_cache_max_frames = play.gop_cache_max_frames;
    options.queue_length_ms = play.queue_length * 1000LL;
    options.merge_ms = play.mw_latency;
    // Waiting for a video frame halves the sends, but delays audio by up to a video frame's duration.
    if (vhost.min_latency) options.audio_wait_ms = 10;
    options.send_min_interval_ms = std::llround(play.send_min_interval);
    // Nagle's algorithm would hold back the end of a packet until the packet before is acknowledged.
    options.no_delay = vhost.tcp_nodelay || vhost.min_latency;
    options.time_jitter = play.time_jitter;
    options.atc = play.atc;
    options.atc_auto = play.atc_auto;
    options.mix_correct = play.mix_correct;
    options.reduce_sequence_header = play.reduce_sequence_header;
    options.audio_cache_ms = play.audio_cache * 1000LL;
    options.send_timeout_ms = play.send_timeout;
    options.rejoin_timeout_ms = play.rejoin_timeout;
    options.memory_limit = static_cast<size_t>(vhost.stream_memory) << 20;
    return options;
}

StandbyOptions standby_options(const config::Vhost& vhost) {
    const config::VhostPublish& publish = vhost.publish;
    // Publishers are read as seldom as that: what has not been read is not missing.
    const int64_t longest_ms = vhost.min_latency ? ReadInterval::kLongMs : vhost.play.mw_latency;
    const int read_ms = std::max(static_cast<int>(longest_ms), publish.mr ? publish.mr_latency : 0);
    return {.mode = publish.standby,
            .timeout_ms = std::max(publish.standby_timeout, 2 * read_ms),
            .max = static_cast<size_t>(publish.standby_max)};
}

}  // namespace live
