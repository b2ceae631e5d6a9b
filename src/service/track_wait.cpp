#include "service/track_wait.h"

#include "live/rtp/rtp_lane.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/deadline.h"

namespace service {

using base::Result;

namespace {

constexpr int64_t kPollMs = 10;
// What a stream without a cached GOP has sent in this time shows its tracks.
constexpr media::Time kTracksKnownAfter = std::chrono::milliseconds(500);

bool shows_tracks(const live::Stream& stream) {
    if (!stream.published()) return false;
    // A description was before the media.
    const live::RtpLane* lane = stream.rtp_lane_if_any();
    if (lane && lane->published_by_rtp() && !stream.tracks()->tracks.empty()) return true;
    return !stream.gop().empty() || stream.last_dts() > kTracksKnownAfter;
}

}  // namespace

bool TrackWait::may_yield(net::Action action, const config::Vhost& vhost) const {
    return action == net::Action::kPlay && pulled_.vhost(vhost);
}

// RTMP and HTTP players wait in their own services, viewers of HLS for their first segment.
Result<void> TrackWait::admit(const net::Visitor& visitor, const config::Vhost& vhost) {
    const bool needs_tracks = visitor.type != net::SessionType::kRtmpPlay &&
                              visitor.type != net::SessionType::kFlvPlay && visitor.type != net::SessionType::kHlsPlay;
    if (!may_yield(visitor.action, vhost) || !needs_tracks || waiting_ >= kMaxWaiting) return {};
    struct Count {
        explicit Count(size_t& all) : count(++all) {}
        ~Count() { --count; }
        size_t& count;
    } const counted(waiting_);
    const live::StreamKey key = visitor.key();
    const auto limit = runtime::Deadline::in_ms(kMaxMs);
    while (!limit.passed() && pulled_.is_pulled(key)) {
        const auto stream = registry_.find(key);
        if (stream && shows_tracks(*stream)) break;
        TRY(runtime::sleep_ms(kPollMs));
    }
    return {};
}

}  // namespace service
