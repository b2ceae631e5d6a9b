#include "service/rtc/publish/layer_streams.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "live/hub/options.h"

namespace service::rtc {

// One layer, and its publication while it is a stream.
class LayerStreams::Layer final : private live::PublicationOwner, private live::KeyframeSource {
  public:
    Layer(LayerStreams& all, size_t index, std::string rid) : all_(all), index_(index), key_(all.setup_.stream) {
        key_.name += "@" + rid;
    }
    ~Layer() { end(); }

    bool is_published() const { return lane_ != nullptr; }
    live::RtpLane* lane() const { return lane_; }
    const live::StreamKey& key() const { return key_; }
    convert::RtpToFrames* bridge() const { return bridge_.get(); }
    bool is_read() const { return lane_ && lane_->sinks() > 0; }

    // Tries to get the name, unless it failed lately.
    void begin(int64_t now_ms);
    void end();
    // Times are exact at once where the sender has reported while nobody read it.
    void begin_clock(size_t track) {
        if (lane_->sinks() == 0 || lane_->clock(track).exact) return;
        if (const auto report = all_.source_.sender_report(index_, track)) take_report(track, *report);
    }
    void take_report(size_t track, const ReceiveTrack::Report& report) {
        lane_->set_clock(track, report.ntp_us, report.timestamp);
    }

  private:
    live::PublisherFacts facts() const override { return all_.setup_.facts; }
    bool publisher_alive() const override { return true; }
    bool publishes_rtp() const override { return true; }
    std::optional<live::StreamKey> simulcast_of() const override { return all_.setup_.stream; }
    void publication_revoked(std::string_view why, base::CloseReason reason) override;
    void make_keyframe() override { all_.source_.make_keyframe_of(index_); }

    LayerStreams& all_;
    const size_t index_;
    live::StreamKey key_;
    live::Publication publication_;
    live::RtpLane* lane_ = nullptr;                 // of its stream; null: it is not published
    std::unique_ptr<convert::RtpToFrames> bridge_;  // writes into publication_; null: rtc_to_rtmp is off
    bool is_reported_ = false;                      // that the name is another's
    int64_t retry_ms_ = INT64_MIN / 2;
};

void LayerStreams::Layer::begin(int64_t now_ms) {
    if (now_ms < retry_ms_) return;
    auto stream = all_.setup_.registry.find_or_create(key_, live::live_options(all_.setup_.vhost));
    auto acquired = stream->acquire(*this, false);
    if (!acquired) {
        retry_ms_ = now_ms + kRetryMs;
        if (!std::exchange(is_reported_, true))
            runtime::warn_some(all_.setup_.log, "rtc-publish: a layer is left out: {}", acquired.error().text());
        return;
    }
    is_reported_ = false;
    publication_ = *std::move(acquired);
    lane_ = &stream->rtp_lane();
    lane_->set_tracks(all_.setup_.tracks);
    lane_->set_keyframe_source(this);
    if (all_.may_log()) base::log::trace("rtc-publish: a layer is {}", key_.text());
    if (!all_.rtc_.rtc_to_rtmp) return;
    convert::RtpToFramesOptions options;
    options.aac_bitrate = all_.rtc_.aac_bitrate;
    options.keyframe_ms = 0;  // on_tick() requests them of all layers at once
    options.missing_since_ms = [this](size_t track) { return all_.source_.missing_since_ms(index_, track); };
    bridge_ = std::make_unique<convert::RtpToFrames>(publication_, options);
}

// The bridge writes into the publication, so it is destroyed first.
void LayerStreams::Layer::end() {
    bridge_.reset();
    lane_ = nullptr;
    publication_.end();
}

void LayerStreams::Layer::publication_revoked(std::string_view why, base::CloseReason reason) {
    end();
    retry_ms_ = INT64_MAX;
    if (reason != base::CloseReason::kPublisherReplaced)
        return all_.source_.end(fmt::format("{}: {}", key_.text(), why), reason);
    // The other one was admitted to publish it.
    runtime::warn_some(all_.setup_.log, "rtc-publish: {} is no layer any more: {}", key_.text(), why);
}

LayerStreams::LayerStreams(Setup setup, LayerSource& source)
    : setup_(std::move(setup)), rtc_(setup_.vhost.get<VhostConfig>()), source_(source) {
    for (size_t i = 0; i < setup_.rids.size(); ++i)
        layers_.push_back(std::make_unique<Layer>(*this, i, setup_.rids[i]));
}

LayerStreams::~LayerStreams() = default;

void LayerStreams::append(size_t layer, const live::RtpHead& head, std::span<const uint8_t> payload,
                          const media::VideoInfo* info, int64_t now_us) {
    live::RtpLane* lane = layers_[layer]->lane();
    if (!lane) return;
    if (info) lane->set_video_info(*info);
    lane->append_if_read(0, head, payload, now_us);
    layers_[layer]->begin_clock(0);
}

void LayerStreams::append_audio(size_t lane_index, const live::RtpHead& head, std::span<const uint8_t> payload,
                                int64_t now_us) {
    for (const auto& layer : layers_) {
        if (!layer->is_published()) continue;
        layer->lane()->append_if_read(lane_index, head, payload, now_us);
        layer->begin_clock(lane_index);
    }
}

void LayerStreams::on_sender_report(size_t layer, const ReceiveTrack::Report& report) {
    if (layers_[layer]->is_published()) layers_[layer]->take_report(0, report);
}

void LayerStreams::on_audio_report(size_t lane_index, const ReceiveTrack::Report& report) {
    for (const auto& layer : layers_)
        if (layer->is_published()) layer->take_report(lane_index, report);
}

void LayerStreams::restart(size_t layer, int64_t now_ms) {
    if (live::RtpLane* lane = layers_[layer]->lane()) lane->restart_track(0);
    on_damage(layer, now_ms);
}

void LayerStreams::restart_audio(size_t lane_index) {
    for (const auto& layer : layers_)
        if (layer->is_published()) layer->lane()->restart_track(lane_index);
}

void LayerStreams::on_damage(size_t layer, int64_t now_ms) {
    if (layers_[layer]->is_read()) layers_[layer]->lane()->request_keyframe(now_ms);
}

void LayerStreams::request_keyframes(int64_t now_ms) {
    keyframes_ms_ = now_ms;
    for (const auto& layer : layers_)
        if (layer->is_read()) layer->lane()->request_keyframe(now_ms);
}

void LayerStreams::on_tick(const LayerChoice& layers, int64_t now_ms) {
    bool converts = false;
    is_settled_ = is_settled_ || layers.is_settled(now_ms);
    for (size_t i = 0; i < layers_.size(); ++i) {
        Layer& layer = *layers_[i];
        if (!layer.is_published() && is_settled_ && layers.is_smaller(i, now_ms)) {
            layer.begin(now_ms);
        } else if (layer.is_published() && !layers.is_sent(i, now_ms)) {
            if (may_log()) base::log::trace("rtc-publish: {} ends: the layer pauses", layer.key().text());
            layer.end();
        }
        if (!layer.is_published()) continue;
        layer.lane()->tick(now_ms);
        if (!layer.bridge()) continue;
        layer.bridge()->on_tick(now_ms);
        converts |= layer.bridge()->running();
    }
    // The stream's own requests are the first ones, while it is converted too.
    constexpr int64_t kLaterMs = 500;
    if (converts && now_ms - keyframes_ms_ >= static_cast<int64_t>(rtc_.pli_for_rtmp * 1000) + kLaterMs)
        request_keyframes(now_ms);
}

void LayerStreams::end_all() {
    for (const auto& layer : layers_) layer->end();
}

size_t LayerStreams::unfinished_input() const {
    size_t bytes = 0;
    for (const auto& layer : layers_)
        if (layer->bridge()) bytes += layer->bridge()->memory();
    return bytes;
}

void LayerStreams::list_unfinished(std::vector<uint64_t>& frames) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
        if (!layers_[i]->bridge()) continue;
        const size_t before = frames.size();
        layers_[i]->bridge()->list_unfinished(frames);
        // Unlike those of the stream: their tracks are in bits 48 and up.
        for (size_t at = before; at < frames.size(); ++at) frames[at] |= uint64_t{i + 1} << 56;
    }
}

void LayerStreams::drop_unfinished() {
    for (const auto& layer : layers_)
        if (layer->bridge()) layer->bridge()->drop_unfinished();
}

}  // namespace service::rtc
