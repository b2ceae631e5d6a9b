// A publisher's layers of simulcast: which packets are of which layer, which layer the stream's lane carries, and who
// else gets them.

#include "base/log.h"
#include "protocol/rtp/extensions.h"
#include "service/rtc/publish/publisher.h"

namespace service::rtc {

// A packet of an SSRC that is not known yet names its layer, or is a retransmission that was requested of it. Senders
// leave the rid out once they know from reports that its SSRC is known.
bool Publisher::may_be_layer(const ReceiveTrack& track, const rtp::PacketView& view) const {
    const bool rtx = track.is_rtx(view.payload_type());
    for (const uint8_t id : {rtx ? repaired_rid_id_ : uint8_t{0}, rid_id_})
        if (id != 0)
            if (const auto value = view.extension(id)) return rtp::text_value(*value) == track.format().rid;
    return rtx && track.answers(view);
}

// Its readers as a layer of the stream, and as a stream of its own.
void Publisher::take_layer(size_t index, const live::RtpHead& head, std::span<const uint8_t> payload,
                           const media::VideoInfo* info, int64_t now_us) {
    if (live::RtpLayer* layer = read_layer(index)) {
        if (info) layer->width = info->width, layer->height = info->height;
        append_layer(index, head, payload, now_us);
    }
    if (layer_streams_) layer_streams_->append(index, head, payload, info, now_us);
}

void Publisher::restart_layer(size_t index, int64_t now_ms) {
    layers_->restart(index);
    if (layer_streams_) layer_streams_->restart(index, now_ms);
    live::RtpLayer* layer = read_layer(index);
    if (!layer) return;
    layer->lane->restart_track(0);
    if (layer->lane->sinks() > 0) layer->lane->request_keyframe(now_ms);
}

// Whether the lane carries this packet of a layer. It changes to another layer here: its players see one track, which
// continues at a keyframe.
bool Publisher::carry_layer(size_t index, const rtp::PacketView& view, bool keyframe, const media::VideoInfo* info,
                            int64_t now_ms) {
    LayerChoice::Packet packet{view.sequence(), view.timestamp(), view.payload().size(), keyframe};
    if (info) packet.pixels = static_cast<uint64_t>(info->width) * static_cast<uint64_t>(info->height);
    const auto before = layers_->current();
    const LayerChoice::Step step = layers_->on_packet(index, packet, now_ms);
    if (step != LayerChoice::Step::kBegins) return step == LayerChoice::Step::kCarried;
    if (counters_.layer_changes < kLayerChangesLogged)
        base::log::trace("rtc-publish: the stream is layer {}, {}x{}{}", tracks_[index].format().rid,
                         info ? info->width : 0, info ? info->height : 0,
                         before ? ", was " + tracks_[*before].format().rid : "");
    if (lane_.layers() && !waits_) lane_.layers()->set_carried(index);
    if (!before) return true;
    ++counters_.layer_changes;
    if (!waits_) lane_.restart_track(lane_index(index), tracks_[index].moment_us(view.timestamp()));
    return true;
}

// Times are exact at once where the layer's sender has reported while nobody read it.
void Publisher::append_layer(size_t index, const live::RtpHead& head, std::span<const uint8_t> payload,
                             int64_t now_us) {
    live::RtpLane& to = *lane_.layers()->all()[index].lane;
    lane_.layers()->append(index, head, payload, now_us);
    const auto& report = tracks_[index].sender_report();
    if (report && !to.clock(0).exact) to.set_clock(0, report->ntp_us, report->timestamp);
}

void Publisher::tick_layers(int64_t now_ms) {
    if (const auto layer = layers_->on_tick(now_ms)) send_pli(tracks_[*layer]);
    for (size_t i = 0; i <= other_layers_; ++i)
        if (live::RtpLayer* layer = read_layer(i)) {
            layer->is_sent = layers_->is_sent(i, now_ms);
            layer->kbps = static_cast<uint32_t>(layers_->rate(i) / 125);
            layer->lane->tick(now_ms);
        }
    if (layer_streams_ && !waits_) layer_streams_->on_tick(*layers_, now_ms);
}

std::optional<int64_t> Publisher::missing_since_ms(size_t layer, size_t lane_index) const {
    return tracks_[track_index(layer, lane_index)].nacks().missing_since_ms();
}

std::optional<ReceiveTrack::Report> Publisher::sender_report(size_t layer, size_t lane_index) const {
    return tracks_[track_index(layer, lane_index)].sender_report();
}

}  // namespace service::rtc
