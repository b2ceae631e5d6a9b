#include "service/rtc/publish/publisher.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/rtx.h"
#include "protocol/sdp/sprop.h"
#include "runtime/loop/clock.h"
#include "service/rtc/publish/video_info.h"

namespace service::rtc {

Publisher::Publisher(MediaParts parts, base::Ref<live::Stream> stream, const PublishFormat& format, uint32_t own_ssrc)
    : session_(parts.session),
      rtc_(parts.vhost.get<VhostConfig>()),
      lane_(stream->rtp_lane()),
      mid_id_(format.mid_id),
      twcc_id_(format.twcc_id),
      rid_id_(format.rid_id),
      repaired_rid_id_(format.repaired_rid_id),
      limits_(parts.vhost.publish, 0),
      snapshot_(std::move(parts.snapshot)),
      vhost_(parts.vhost),
      facts_(std::move(parts.facts)),
      stream_(std::move(stream)),
      own_ssrc_(own_ssrc) {
    bool has_twcc = false;
    for (const ReceiveFormat& track : format.tracks) {
        tracks_.emplace_back(track);
        has_twcc |= track.transport_cc;
        wants_remb_ |= track.remb;
    }
    const auto layers = static_cast<size_t>(
        std::ranges::count_if(format.tracks, [](const ReceiveFormat& track) { return !track.rid.empty(); }));
    if (layers > 0) {
        layers_ = std::make_unique<LayerChoice>(layers);
        other_layers_ = layers - 1;
        layer_keyframes_.reserve(layers);
        for (size_t i = 0; i < layers; ++i) layer_keyframes_.emplace_back(*this, i);
        LayerSource& source = *this;
        if (rtc_.layers_as_streams)
            layer_streams_ =
                std::make_unique<LayerStreams>(LayerStreams::Setup{vhost_, parts.registry, parts.codec_log,
                                                                   stream_->key(), facts_, lane_tracks(), rids()},
                                               source);
    }
    // Only one of the two: a client that gets both uses the smaller estimate.
    if (has_twcc && twcc_id_ != 0) {
        twcc_ = std::make_unique<rtcp::TwccCollector>();
        wants_remb_ = false;
    }
}

Publisher::~Publisher() {
    lane_.expect_no_more(this);
    end_publication();
}

std::vector<live::RtpTrack> Publisher::lane_tracks() const {
    std::vector<live::RtpTrack> tracks;
    for (size_t i = other_layers_; i < tracks_.size(); ++i) tracks.push_back(tracks_[i].format().track);
    return tracks;
}

std::vector<std::string> Publisher::rids() const {
    std::vector<std::string> rids;
    for (size_t i = 0; layers_ && i <= other_layers_; ++i) rids.push_back(tracks_[i].format().rid);
    return rids;
}

base::Result<void> Publisher::prepare() {
    TRY(stream_->check_free(vhost_.publish.takeover, standby()));
    lane_.expect(this, lane_tracks());
    return {};
}

base::Result<void> Publisher::acquire() {
    publication_ = TRY(stream_->acquire(*this, vhost_.publish.takeover));
    lane_.expect_no_more(this);
    waits_ = publication_.waits();
    if (!waits_) enter_lane();
    return {};
}

void Publisher::enter_lane() {
    lane_.set_tracks(lane_tracks());
    lane_.set_keyframe_source(this);
    if (layers_) {
        lane_.set_layers(rids());
        for (size_t i = 0; i <= other_layers_; ++i)
            lane_.layers()->all()[i].lane->set_keyframe_source(&layer_keyframes_[i]);
        if (layers_->current()) lane_.layers()->set_carried(*layers_->current());
    }
    for (const ReceiveTrack& track : tracks_)
        for (const auto& set : sdp::parameter_sets(track.format().track.codec, track.format().track.sprop))
            if (auto info = video_info(track.format().track.codec, set)) lane_.set_video_info(std::move(*info));
    if (rtc_.rtc_to_rtmp) {
        convert::RtpToFramesOptions options;
        options.aac_bitrate = rtc_.aac_bitrate;
        options.keyframe_ms = static_cast<int64_t>(rtc_.pli_for_rtmp * 1000);
        options.missing_since_ms = [this](size_t track) { return missing_since_ms(track); };
        bridge_ = std::make_unique<convert::RtpToFrames>(publication_, options);
    }
}

// Since when a packet is requested that the bridge waits for.
std::optional<int64_t> Publisher::missing_since_ms(size_t lane_index) const {
    size_t index = lane_index + other_layers_;
    if (is_layer(index)) {
        if (!layers_->current()) return std::nullopt;
        index = *layers_->current();
    }
    return tracks_[index].nacks().missing_since_ms();
}

void Publisher::publication_waits() {
    waits_ = true;
    if (layer_streams_) layer_streams_->end_all();
    bridge_.reset();
}

void Publisher::publication_activated() {
    waits_ = false;
    enter_lane();
}

void Publisher::on_connected(int64_t now_ms) {
    if (auto acquired = acquire(); !acquired) {
        session_.end("another publisher took the name after the offer: " + acquired.error().text(),
                     base::CloseReason::kRefusedBusy);
        return;
    }
    const live::StreamKey& key = stream_->key();
    session_.as_session().enter_stream(key, true);
    if (waits_) base::log::trace("rtc-publish: {} as a standby", key.text());
    frames_before_ = stream_->frames();
    limits_ = live::PublisherLimits(vhost_.publish, now_ms * 1000);
    for (ReceiveTrack& track : tracks_) track.begin(now_ms);
    next_report_ms_ = now_ms + kReportEveryMs;
    next_twcc_ms_ = now_ms + kTwccEveryMs;
}

// Finds a packet's track: by SSRC; for a new SSRC by mid, payload type and rid.
ReceiveTrack* Publisher::track_of(const rtp::PacketView& view, int64_t now_ms) {
    for (ReceiveTrack& track : tracks_)
        if (track.owns(view.ssrc())) return &track;
    std::string_view mid;
    if (mid_id_ != 0)
        if (auto value = view.extension(mid_id_)) mid = rtp::text_value(*value);
    for (ReceiveTrack& track : tracks_) {
        if (!track.has_payload_type(view.payload_type())) continue;
        if (!mid.empty() && mid != track.format().mid) continue;
        if (!track.format().rid.empty() && !may_be_layer(track, view)) continue;
        if (takes_ssrc(track, view, now_ms)) return &track;
    }
    return nullptr;
}

// One SSRC per track is accepted: another one is not used while the current one is active.
bool Publisher::takes_ssrc(ReceiveTrack& track, const rtp::PacketView& view, int64_t now_ms) {
    const bool rtx = track.is_rtx(view.payload_type());
    if (view.ssrc() == 0 && track.ssrc() != 0) return false;  // 0 means none
    if (rtx ? !track.may_learn_rtx(view) : track.ssrc() != 0 && !track.is_silent(now_ms, kSsrcSilentMs)) return false;
    const size_t known = ssrcs_.size();
    if (!record_ssrc(view.ssrc())) return false;
    if (rtx || track.ssrc() == 0) {
        track.learn(view.ssrc(), rtx);
        return true;
    }
    // Only a change to a new SSRC is logged; the number of changes is logged at the end of the session.
    if (ssrcs_.size() > known)
        base::log::trace("rtc-publish: {} continues with SSRC {}, was {}",
                         track.kind() == media::Kind::kVideo ? "video" : "audio", view.ssrc(), track.ssrc());
    ++counters_.ssrc_changes;
    track.follow(view.ssrc(), now_ms);
    const auto index = static_cast<size_t>(&track - tracks_.data());
    if (is_layer(index))
        restart_layer(index, now_ms);
    else if (layer_streams_)
        layer_streams_->restart_audio(lane_index(index));
    if (waits_ || !is_carried(index)) return true;
    lane_.restart_track(lane_index(index));
    if (track.kind() == media::Kind::kVideo) lane_.request_keyframe(now_ms);
    return true;
}

bool Publisher::record_ssrc(uint32_t ssrc) {
    if (std::ranges::find(ssrcs_, ssrc) != ssrcs_.end()) return true;
    if (ssrcs_.size() >= kMaxSsrcs) return false;
    ssrcs_.push_back(ssrc);
    return true;
}

void Publisher::on_rtp(std::span<uint8_t> packet, int64_t now_us) {
    if (!joined()) return;
    auto view = rtp::PacketView::parse(packet);
    if (!view) return;
    ++counters_.packets;
    if (twcc_)
        if (auto value = view->extension(twcc_id_))
            if (auto number = rtp::transport_cc(*value)) twcc_->on_packet(*number, now_us);
    if (rtc_.drop_for_pt != 0 && view->payload_type() == rtc_.drop_for_pt) {
        ++counters_.dropped_for_pt;
        return;
    }
    ReceiveTrack* track = track_of(*view, now_us / 1000);
    if (!track || !track->has_payload_type(view->payload_type())) {
        ++counters_.foreign;
        return;
    }
    const bool by_rtx = track->is_rtx(view->payload_type());
    if (by_rtx) {
        ++counters_.by_rtx;
        // Before the first media packet the track's SSRC is not known.
        if (track->ssrc() == 0) return;
        auto restored = rtp::restore_rtx(packet, track->ssrc(), track->format().track.payload_type);
        if (!restored) return;  // a probe
        view = rtp::PacketView::parse(*restored);
        if (!view) return;
        // Senders probe for bandwidth with old packets. Nobody needs those.
        if (!track->nacks().awaits(view->sequence())) {
            ++counters_.rtx_unasked;
            return;
        }
    }
    take(static_cast<size_t>(track - tracks_.data()), *view, by_rtx, now_us);
}

void Publisher::take(size_t index, const rtp::PacketView& view, bool by_rtx, int64_t now_us) {
    ReceiveTrack& track = tracks_[index];
    const media::Codec codec = track.format().track.codec;
    const auto payload = view.payload();
    track.on_packet(view, by_rtx, now_us);
    counters_.bytes += payload.size();
    if (!track.nacks().idle() && !std::exchange(misses_packets_, true)) session_.tick_sooner(now_us / 1000);
    limits_.on_media(now_us);
    const bool keyframe = track.kind() == media::Kind::kVideo && !payload.empty() && rtp::is_keyframe(codec, payload);
    std::optional<media::VideoInfo> info;
    if (keyframe) info = video_info(codec, payload);
    const live::RtpHead head{view.sequence(), view.timestamp(), view.marker(), keyframe};
    if (is_layer(index)) {
        take_layer(index, head, payload, info ? &*info : nullptr, now_us);
        if (!carry_layer(index, view, keyframe, info ? &*info : nullptr, now_us / 1000)) return;
    } else if (layer_streams_) {
        layer_streams_->append_audio(lane_index(index), head, payload, now_us);
    }
    if (waits_ && !publication_.offer(track.kind(), keyframe)) return;
    if (info) lane_.set_video_info(std::move(*info));
    lane_.append(lane_index(index), head, payload, now_us);
}

void Publisher::make_keyframe() {
    for (size_t i = 0; i < tracks_.size(); ++i)
        if (tracks_[i].kind() == media::Kind::kVideo && (is_carried(i) || !layers_->current())) send_pli(tracks_[i]);
    if (layer_streams_) layer_streams_->request_keyframes(runtime::now_ms());
}

void Publisher::on_tick(int64_t now_ms) {
    if (!joined()) return;
    if (const auto passed = limits_.passed(now_ms * 1000, stream_.get(), nullptr))
        session_.end(passed->text, passed->reason);
    ask_for_missing(now_ms);
    misses_packets_ = false;
    for (size_t i = 0; i < tracks_.size(); ++i) {
        if (tracks_[i].take_damage() && !waits_) {
            if (is_carried(i)) lane_.request_keyframe(now_ms);
            if (live::RtpLayer* layer = read_layer(i); layer && layer->lane->sinks() > 0)
                layer->lane->request_keyframe(now_ms);
            if (layer_streams_ && is_layer(i)) layer_streams_->on_damage(i, now_ms);
        }
        misses_packets_ |= tracks_[i].nacks().missing() > 0;
    }
    if (layers_) tick_layers(now_ms);
    if (bridge_) bridge_->on_tick(now_ms);
    if (!waits_) lane_.tick(now_ms);
    if (now_ms >= next_twcc_ms_) send_twcc(now_ms);
    if (now_ms >= next_report_ms_) send_reports(now_ms);
}

void Publisher::publication_revoked(std::string_view why, base::CloseReason reason) {
    end_publication();
    session_.end(why, reason);
}

void Publisher::on_closed() {
    closed_ = true;
    report_losses();
    const PublisherCounters& c = counters_;
    base::log::trace(
        "rtc-publish: {} packets, {} by RTX, {} of no track, {} dropped by payload type; {} requested by NACK, {} "
        "keyframes requested, "
        "{} reports, {} of congestion control, {} malformed reports, {} changes of an SSRC, {} of the layer",
        c.packets, c.by_rtx, c.foreign, c.dropped_for_pt, c.nacks_sent, c.plis_sent, c.reports_sent, c.twcc_sent,
        c.bad_rtcp, c.ssrc_changes, c.layer_changes);
    end_publication();
}

// The bridge writes into the publication, so it is destroyed first.
void Publisher::end_publication() {
    if (layer_streams_) layer_streams_->end_all();
    bridge_.reset();
    publication_.end();
}

std::string Publisher::describe() const {
    std::string text;
    for (const live::RtpTrack& track : lane_tracks())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", track.kind == media::Kind::kVideo ? "video" : "audio",
                            media::codec_info(track.codec).name);
    if (layers_) text += fmt::format(", {} layers", other_layers_ + 1);
    return text;
}

}  // namespace service::rtc
