#include "service/relay/demand.h"

#include "convert/flv/to_rtmp.h"
#include "live/fanout/audience.h"
#include "live/fanout/live_log.h"
#include "live/hub/registry.h"
#include "live/rtp/rtp_lane.h"

namespace service::relay {

size_t players_of(live::Stream& stream) {
    size_t count = stream.has_file_viewers() ? 1 : 0;
    if (const live::RtpLane* lane = stream.rtp_lane_if_any()) count += lane->players();
    stream.for_each_log([&](live::LiveLog& log) {
        if (!convert::publishes_by_rtmp(log.key())) count += log.audience().size();
    });
    return count;
}

// Sessions in the stream, with viewers of HLS, and what they do not count: the plays of a connection that plays
// several streams. Servers to which the stream is forwarded want nothing.
size_t players_of(const live::StreamKey& key, const live::Registry& registry, const net::SessionTable& sessions) {
    size_t count = 0;
    if (const net::StreamAccount* account = sessions.accounts().find(key))
        count = account->clients() - (account->publisher() ? 1 : 0);
    if (count > 0) return count;
    const auto stream = registry.find(key);
    return stream ? players_of(*stream) : 0;
}

}  // namespace service::relay
