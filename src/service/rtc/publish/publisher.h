#pragma once
// Publisher: a WebRTC client's published media, from decrypted packets to the stream's RTP lane. It restores RTX
// packets, requests missing packets (RFC 4585), sends reports (RFC 3550, transport-wide congestion control, REMB), and
// requests a keyframe when a loss could not be repaired or a player needs one. Packets enter the lane unchanged and in
// their order of arrival: see live/rtp/rtp_ring.h. It does not repacketize. Of simulcast, all layers are received, and
// the lane carries one of them at a time (layer_choice.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/rtp/from_rtp.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "live/rtp/rtp_layers.h"
#include "protocol/rtcp/twcc_collector.h"
#include "protocol/rtp/ntp.h"
#include "service/rtc/config.h"
#include "service/rtc/media.h"
#include "service/rtc/publish/layer_choice.h"
#include "service/rtc/publish/layer_streams.h"
#include "service/rtc/publish/receive_track.h"

namespace service::rtc {

struct PublishFormat {
    // At most RtpRing::kMaxTracks; layers of simulcast, those with a rid, are the first ones.
    std::vector<ReceiveFormat> tracks;
    uint8_t mid_id = 0;  // header extension id; 0: not negotiated
    uint8_t twcc_id = 0;
    uint8_t rid_id = 0;
    uint8_t repaired_rid_id = 0;  // of RTX packets
};

struct PublisherCounters {
    uint64_t packets = 0;
    uint64_t bytes = 0;  // of payload, of all tracks
    uint64_t by_rtx = 0;
    uint32_t rtx_unasked = 0;  // dropped: by RTX, but not requested, or no longer missing
    uint32_t foreign = 0;      // belong to no track: a layer that was not negotiated, an unknown payload type
    uint32_t dropped_for_pt = 0;
    uint32_t nacks_sent = 0;  // packets requested
    uint32_t plis_sent = 0;
    uint32_t reports_sent = 0;
    uint32_t twcc_sent = 0;
    uint32_t bad_rtcp = 0;
    uint32_t ssrc_changes = 0;   // of a track that already had an SSRC
    uint32_t layer_changes = 0;  // of the layer that the lane carries
};

class Publisher final : public Media,
                        private live::PublicationOwner,
                        private live::KeyframeSource,
                        private LayerSource {
  public:
    // own_ssrc: random; the sender SSRC of our reports.
    Publisher(MediaParts parts, base::Ref<live::Stream> stream, const PublishFormat& format, uint32_t own_ssrc);
    ~Publisher();

    // Checks whether the stream's name is available now (kBusy). The publisher takes the name in on_connected(), and
    // ends the session if another publisher has it by then: an offer alone neither replaces a publisher nor reserves a
    // name. With publish.standby it waits for the name: its packets are read and reported, but not published.
    base::Result<void> prepare();

    void on_connected(int64_t now_ms) override;
    void on_rtp(std::span<uint8_t> packet, int64_t now_us) override;
    void on_rtcp(std::span<uint8_t> compound, int64_t now_us) override;
    void on_tick(int64_t now_ms) override;
    size_t unfinished_input() const override {
        return (bridge_ ? bridge_->memory() : 0) + (layer_streams_ ? layer_streams_->unfinished_input() : 0);
    }
    void list_unfinished(std::vector<uint64_t>& frames) const override {
        if (bridge_) bridge_->list_unfinished(frames);
        if (layer_streams_) layer_streams_->list_unfinished(frames);
    }
    void drop_unfinished() override {
        if (bridge_) bridge_->drop_unfinished();
        if (layer_streams_) layer_streams_->drop_unfinished();
    }
    int64_t tick_ms() const override { return misses_packets_ ? kNackTickMs : kTwccEveryMs; }
    void on_closed() override;
    std::string describe() const override;
    net::RtcQuality quality() const override;
    net::SessionFigures figures() const override;

    const PublisherCounters& counters() const { return counters_; }

  private:
    class Feedback;
    static constexpr int64_t kReportEveryMs = 1000;
    // The interval of libwebrtc and pion: senders expect feedback every 50 to 250 ms.
    static constexpr int64_t kTwccEveryMs = 100;
    static constexpr int64_t kNackTickMs = 20;  // while packets are missing
    static constexpr size_t kMaxNacksAtOnce = 128;
    // A track switches to another SSRC of its payload type (RFC 3550, 8.2) only when its own SSRC has been silent for
    // this long or has sent BYE: while its own is active, the other SSRC is a layer that was not negotiated. This is
    // also the minimum interval between two switches.
    static constexpr int64_t kSsrcSilentMs = 300;
    // SSRCs of the session, RTX included: as many as protocol/srtp/receiver.h tracks. Packets of further SSRCs are
    // ignored.
    static constexpr size_t kMaxSsrcs = 32;
    static constexpr uint32_t kLayerChangesLogged = 100;

    live::PublisherFacts facts() const override { return facts_; }
    bool publisher_alive() const override { return !closed_; }
    bool publishes_rtp() const override { return true; }
    std::optional<live::StreamKey> simulcast_of() const override {
        return layer_streams_ ? std::optional(stream_->key()) : std::nullopt;
    }
    void publication_revoked(std::string_view why, base::CloseReason reason) override;
    live::StandbyOptions standby() const override { return live::standby_options(vhost_); }
    void publication_waits() override;
    void publication_activated() override;
    void standby_keyframe_wanted() override { make_keyframe(); }
    void make_keyframe() override;
    // LayerSource
    void make_keyframe_of(size_t layer) override { send_pli(tracks_[layer]); }
    std::optional<int64_t> missing_since_ms(size_t layer, size_t lane_index) const override;
    std::optional<ReceiveTrack::Report> sender_report(size_t layer, size_t lane_index) const override;
    void end(std::string_view why, base::CloseReason reason) override { session_.end(why, reason); }

    base::Result<void> acquire();
    // Has the name, or waits for it.
    bool joined() const { return static_cast<bool>(publication_); }
    void enter_lane();
    ReceiveTrack* track_of(const rtp::PacketView& view, int64_t now_ms);
    bool may_be_layer(const ReceiveTrack& track, const rtp::PacketView& view) const;
    bool takes_ssrc(ReceiveTrack& track, const rtp::PacketView& view, int64_t now_ms);
    bool record_ssrc(uint32_t ssrc);
    std::vector<live::RtpTrack> lane_tracks() const;
    std::vector<std::string> rids() const;
    // The lane's index of a track: its layers are one track there.
    size_t lane_index(size_t index) const { return index < other_layers_ ? 0 : index - other_layers_; }
    bool is_layer(size_t index) const { return layers_ && index <= other_layers_; }
    // Whether the lane carries the track now.
    bool is_carried(size_t index) const { return !is_layer(index) || layers_->current() == index; }
    bool carry_layer(size_t index, const rtp::PacketView& view, bool keyframe, const media::VideoInfo* info,
                     int64_t now_ms);
    std::optional<int64_t> missing_since_ms(size_t lane_index) const;
    // The track of an index in the lane of a layer's stream.
    size_t track_index(size_t layer, size_t lane_index) const {
        return lane_index == 0 ? layer : lane_index + other_layers_;
    }
    // The lane of a layer, which has its readers; null: the stream is not its publisher's.
    live::RtpLayer* read_layer(size_t index) const {
        return is_layer(index) && lane_.layers() && !waits_ ? &lane_.layers()->all()[index] : nullptr;
    }
    void append_layer(size_t index, const live::RtpHead& head, std::span<const uint8_t> payload, int64_t now_us);
    void tick_layers(int64_t now_ms);
    void take_layer(size_t index, const live::RtpHead& head, std::span<const uint8_t> payload,
                    const media::VideoInfo* info, int64_t now_us);
    void restart_layer(size_t index, int64_t now_ms);
    void on_sender_report(size_t index, uint64_t ntp, uint32_t timestamp, int64_t now_us);
    void take(size_t index, const rtp::PacketView& view, bool by_rtx, int64_t now_us);
    void end_publication();
    void ask_for_missing(int64_t now_ms);
    void send_reports(int64_t now_ms);
    void report_losses();
    void send_twcc(int64_t now_ms);
    void send_pli(const ReceiveTrack& track);
    // In the clock of all tracks; 0 where the sender has none.
    int64_t ntp_us_of(uint64_t ntp) { return ntp == 0 ? 0 : ntp_.us(ntp); }
    uint64_t rate_to_offer(int64_t now_ms);

    // First what each packet needs, in few cache lines.
    MediaSession& session_;
    const VhostConfig& rtc_;
    live::RtpLane& lane_;
    live::Publication publication_;
    std::vector<ReceiveTrack> tracks_;     // in the lane's order, but for the layers at its begin
    std::unique_ptr<LayerChoice> layers_;  // null: no simulcast
    struct LayerKeyframes final : live::KeyframeSource {
        LayerKeyframes(Publisher& by, size_t of) : publisher(by), index(of) {}
        void make_keyframe() override { publisher.send_pli(publisher.tracks_[index]); }
        Publisher& publisher;
        size_t index;
    };
    std::vector<LayerKeyframes> layer_keyframes_;  // for each layer's readers
    size_t other_layers_ = 0;                      // layers beside the first one
    std::unique_ptr<rtcp::TwccCollector> twcc_;
    uint8_t mid_id_, twcc_id_, rid_id_, repaired_rid_id_;
    bool waits_ = false;  // for the name; the lane is another publisher's, or no one's
    bool misses_packets_ = false;
    live::PublisherLimits limits_;  // from on_connected() on
    uint64_t frames_before_ = 0;    // of its stream then
    PublisherCounters counters_;
    config::SnapshotPtr snapshot_;
    const config::Vhost& vhost_;
    live::PublisherFacts facts_;
    base::Ref<live::Stream> stream_;
    std::unique_ptr<convert::RtpToFrames> bridge_;  // writes into publication_; null: rtc_to_rtmp is off
    std::vector<uint32_t> ssrcs_;                   // learned from packets
    rtp::NtpUnwrapper ntp_;                         // of its sender reports
    std::unique_ptr<LayerStreams> layer_streams_;   // null: layers_as_streams is off, or there are no layers
    uint32_t own_ssrc_;
    uint8_t fir_sequence_ = 0;
    bool closed_ = false;
    bool wants_remb_ = false;
    int64_t next_report_ms_ = 0;
    int64_t next_twcc_ms_ = 0;
    uint64_t rated_bytes_ = 0;
    int64_t rated_ms_ = 0;
    uint8_t worst_loss_ = 0;  // of 256, the worst track of our last report
    uint32_t worst_jitter_ms_ = 0;
    rtp::NackTracker::Counters reported_;  // of all tracks: already added to the metrics
    uint64_t reported_by_rtx_ = 0;
};

}  // namespace service::rtc
