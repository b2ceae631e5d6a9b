#include "service/rtc/play/bridges.h"

#include <cstdlib>

#include "service/rtc/config.h"

namespace service::rtc {

Bridges::Bridges(live::Registry& registry, config::SnapshotPtr snapshot)
    : followed_(registry, *this), snapshot_(std::move(snapshot)) {
    followed_.start(snapshot_);
}

void Bridges::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    followed_.reload(next);
}

const convert::FramesToRtp* Bridges::find(const live::Stream& stream) const {
    auto found = bridges_.find(&stream);
    return found == bridges_.end() ? nullptr : found->second.get();
}

bool Bridges::wants(const live::Stream& stream, const config::Vhost& vhost) const {
    const auto& rtc = vhost.get<VhostConfig>();
    return rtc.enabled && rtc.rtmp_to_rtc && stream.publisher() && !stream.publisher()->publishes_rtp();
}

bool Bridges::follow(live::Stream& stream, const config::Vhost& vhost) {
    const auto& rtc = vhost.get<VhostConfig>();
    convert::FramesToRtpOptions options;
    options.keep_bframe = rtc.keep_bframe;
    options.keep_sei = rtc.keep_avc_nalu_sei;
    options.merge_nalus = snapshot_->get<ServerConfig>().merge_nalus;
    options.opus_bitrate = rtc.opus_bitrate;
    if (!rtc.opus_ptime.empty()) options.opus_ptime_ms = std::atoi(rtc.opus_ptime.c_str());
    bridges_[&stream] = std::make_unique<convert::FramesToRtp>(stream, options, unplayable_log_);
    return true;
}

}  // namespace service::rtc
