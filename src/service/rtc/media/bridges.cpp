#include "service/rtc/media/bridges.h"

#include <cstdlib>

#include "service/rtc/config.h"

namespace service::rtc {

Bridges::Bridges(live::Registry& registry, config::SnapshotPtr snapshot)
    : registry_(registry), snapshot_(std::move(snapshot)) {
    registry_.watch(*this);
    registry_.for_each([this](live::Stream& stream) {
        if (stream.published()) stream_published(stream);
    });
}

Bridges::~Bridges() { registry_.unwatch(*this); }

const convert::FramesToRtp* Bridges::find(const live::Stream& stream) const {
    auto found = bridges_.find(&stream);
    return found == bridges_.end() ? nullptr : found->second.get();
}

void Bridges::stream_published(live::Stream& stream) {
    const config::Vhost* vhost = snapshot_->vhost(stream.key().vhost);
    if (!vhost) return;
    const auto& rtc = vhost->get<VhostConfig>();
    if (!rtc.enabled || !rtc.rtmp_to_rtc) return;
    if (!stream.publisher() || stream.publisher()->publishes_rtp()) return;
    convert::FramesToRtpOptions options;
    options.keep_bframe = rtc.keep_bframe;
    options.keep_sei = rtc.keep_avc_nalu_sei;
    options.merge_nalus = snapshot_->get<ServerConfig>().merge_nalus;
    options.opus_bitrate = rtc.opus_bitrate;
    if (!rtc.opus_ptime.empty()) options.opus_ptime_ms = std::atoi(rtc.opus_ptime.c_str());
    bridges_[&stream] = std::make_unique<convert::FramesToRtp>(stream, options);
}

void Bridges::stream_unpublished(live::Stream& stream) { bridges_.erase(&stream); }

}  // namespace service::rtc
