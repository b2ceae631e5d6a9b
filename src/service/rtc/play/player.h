#pragma once
// Player: one WebRTC viewer of a stream, above its session. SendScheduler notifies it of new packets. It gives each
// packet the viewer's header (send_track.h) and passes it on for encryption; the payload is shared by all viewers. It
// begins at the newest keyframe, answers NACKs from the lane's ring, and forwards requests for keyframes. It stores no
// packets and has no coroutine.
//
// A viewer that loses too much does not cause unlimited retransmission: retransmitted bytes are limited to a share of
// the bytes sent, and beyond that limit the viewer's video continues at the next keyframe.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/timers.h"
#include "service/rtc/media.h"
#include "service/rtc/play/bandwidth.h"
#include "service/rtc/play/link_history.h"
#include "service/rtc/play/losses.h"
#include "service/rtc/play/player_layers.h"
#include "service/rtc/play/playout_delay.h"
#include "service/rtc/play/retransmission_log.h"
#include "service/rtc/play/rtp_cursor.h"
#include "service/rtc/play/send_track.h"
#include "service/rtc/play/short_link.h"
#include "service/rtc/stats.h"

namespace service::rtc {

struct PlayerCounters {
    uint64_t packets = 0;         // media packets, without retransmissions
    uint64_t retransmitted = 0;   // answers to NACKs
    uint32_t nacks = 0;           // packets requested
    uint32_t nacks_refused = 0;   // beyond the budget
    uint32_t nacks_repeated = 0;  // requested again too soon, or too often for the credit left
    uint32_t nacks_unknown = 0;   // not in the ring (evicted, or never received)
    uint32_t jumps = 0;           // skips to a later keyframe
    uint32_t keyframe_requests = 0;
    uint32_t bad_rtcp = 0;
    uint32_t fraction_lost = 0;  // of 256, the worst track in the viewer's last report
    uint32_t jitter_ms = 0;      // likewise
};

class Player final : private live::RtpSink, public Media {
  public:
    // formats: at most one of each kind. first_sequence: random.
    Player(MediaParts parts, base::Ref<live::Stream> stream, const std::vector<SendFormat>& formats,
           uint16_t first_sequence);
    ~Player();

    void on_connected(int64_t now_ms) override;
    void on_rtp(std::span<uint8_t>, int64_t) override {}  // a player sends no media
    void on_rtcp(std::span<uint8_t> compound, int64_t now_us) override;
    void on_tick(int64_t now_ms) override;
    int64_t tick_ms() const override { return reports_ < kFirstReports ? 100 : 500; }
    void on_closed() override;
    std::string describe() const override;
    net::RtcQuality quality() const override;
    net::SessionFigures figures() const override;

    const PlayerCounters& counters() const { return counters_; }

  private:
    friend class PlayerLayers;
    static constexpr size_t kMaxTracks = 2;
    // Packets sent per call; the rest follows with the next ticks of 5 ms, so that the initial burst fits the
    // viewer's buffers.
    static constexpr int kPacketsPerPass = 48;
    // A GOP larger than this is not sent to a new viewer, which waits for the next keyframe instead. The limit is lower
    // for so long if the publisher was requested to send a keyframe, because that keyframe arrives sooner than a large
    // backlog; some publishers ignore the request.
    static constexpr size_t kMaxBacklogBytes = 2 * 1024 * 1024;
    static constexpr size_t kMaxBacklogOnRequest = 256 * 1024;
    static constexpr int64_t kStartUs = 200'000;
    // The retransmission budget in bytes: half of the bytes sent, accumulated up to kMaxCredit.
    static constexpr int32_t kMaxCredit = 512 * 1024, kFirstCredit = 256 * 1024;
    // Additional credit that must be left for each earlier retransmission of the same packet: first retransmissions
    // have priority, and a viewer that keeps requesting packets it already has cannot use up their budget.
    static constexpr int32_t kCreditPerTry = kMaxCredit / 16;
    static constexpr int64_t kReportEveryMs = 2500;
    // A player synchronizes audio and video from the second sender report of each track on, and one track may begin
    // later than the other.
    static constexpr uint32_t kFirstReports = 6;
    static constexpr int64_t kFirstReportsEveryMs = 200;

    // While the link is short: video is measured out.
    static constexpr int64_t kPaceMs = 10;
    static constexpr int64_t kLayerWaitUs = 300'000;  // for the keyframe of a layer, behind that of the stream
    // Likewise, or while that is suspected: reports, whose answers tell the round trip.
    static constexpr int64_t kProbeEveryMs = 200;
    // After the last losses frames are held back, and audio has redundant payloads, for so long.
    static constexpr int64_t kDelayedMs = 10'000, kRedundantMs = 30'000;

    class Feedback;
    struct Paced final : runtime::Timer {
        Paced(Player& to, const ShortLink& short_link) : player(to), link(short_link) {}
        void on_due() override { player.send_paced(runtime::now_us()); }
        Player& player;
        ShortLink link;
        Counted counted{&RtcStats::on_heads};
    };

    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override;
    void on_tracks() override;
    void on_track_restart(size_t lane_track) override;
    void on_unpublish() override;
    void on_stream_end() override;

    SendTrack* track_of(size_t lane_track) {
        const int8_t index = track_index_[lane_track];
        return index < 0 ? nullptr : &tracks_[static_cast<size_t>(index)];
    }
    int lane_track_of(const SendTrack& track) const;  // -1: the lane has no such track
    // Where its packets are read, and the track's index there: -1: nowhere.
    struct Reading {
        live::RtpLane& lane;
        int track;
    };
    Reading reading_of(const SendTrack& track) const;
    bool has_layer() const { return layers_ && layers_->lane(); }
    live::RtpLane& video_lane() const { return has_layer() ? *layers_->lane() : lane_; }
    void choose_layer(int64_t now_ms);
    // Another lane's video is sent from now on.
    void stop_stream_video();
    uint64_t stream_video_position() const { return paced_ ? paced_->link.position() : cursor_.position(); }
    void match_tracks();
    void begin_or_skip(int64_t now_us);
    void apply(const RtpCursor::Change& change, int64_t now_ms);
    // True: a packet was sent.
    bool forward(const live::RtpPacket& packet);
    [[gnu::cold, gnu::noinline]] bool forward_red(SendTrack& track, const live::RtpPacket& packet, uint64_t number);
    void send_audio(int64_t now_us);
    void begin_pacing(int64_t now_us);
    bool expects_layer(int64_t now_us) const;
    void send_paced(int64_t now_us);
    void end_pacing();
    void on_nack(SendTrack& track, uint16_t sequence, int64_t now_ms);
    void earn_credit();
    void protect_audio(int64_t now_ms);
    void delay_playout(int64_t now_ms);
    uint32_t send_reports();
    void send_due_reports();
    void send_bye();
    net::RtcSent sent() const;
    void note_link(int64_t now_ms);
    void log_counters() const;

    MediaSession& session_;
    live::RtpLane& lane_;
    std::vector<SendTrack> tracks_;
    std::array<int8_t, live::RtpRing::kMaxTracks> track_index_{};  // lane track to index in tracks_; -1: not sent
    RtpCursor cursor_;
    int8_t video_ = -1;  // index in tracks_ if the lane has video too
    bool joined_ = false;
    bool reports_due_ = false;  // they follow the next packets, or go out with the next tick
    PlayerCounters counters_;
    runtime::LogLimit& codec_log_;
    config::SnapshotPtr snapshot_;
    base::Ref<live::Stream> stream_;
    int32_t credit_ = kFirstCredit;  // bytes
    uint32_t credited_octets_ = 0;   // of the tracks, for which credit was earned
    uint32_t clock_version_ = 0;
    uint32_t last_answered_ = 0;  // the sender report whose round trip was measured last
    uint32_t reports_ = 0;
    int64_t next_report_ms_ = 0;
    uint64_t frames_before_ = 0;  // of its stream when it was connected
    int64_t connected_us_ = 0;
    int64_t first_ms_ = -1;    // until the first packet; -1: there was none
    int64_t start_by_us_ = 0;  // until then a keyframe on request is better than a large backlog
    RoundTrips round_trips_;
    Losses losses_, video_losses_;  // by reports; by requests for packets of the video
    PlayoutDelay playout_delay_;
    Bandwidth bandwidth_;
    std::unique_ptr<Paced> paced_;                           // null: it is sent all of the stream
    std::unique_ptr<RetransmissionLog> retransmission_log_;  // from the first NACK on
    std::unique_ptr<LinkHistory> history_;                   // of a link that is not good
    std::unique_ptr<PlayerLayers> layers_;                   // null: its video is the stream's
};

}  // namespace service::rtc
