#pragma once
// Player: one WebRTC viewer of a stream, above its session. It is told by the lane's pump when packets have come, gives
// each the viewer's header (send_track.h) and hands it on to be encrypted from the payload that all viewers share. It
// begins at the newest keyframe, answers NACKs from the lane's ring, and passes requests for keyframes on. It keeps no
// packet and has no coroutine.
//
// Who loses too much is not sent ever more: what is sent again is bounded by a share of what is sent, and beyond it the
// viewer's video goes on at the next keyframe.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "service/rtc/media/media.h"
#include "service/rtc/media/retransmission_log.h"
#include "service/rtc/media/send_track.h"

namespace service::rtc {

struct PlayerCounters {
    uint64_t packets = 0;         // of media, sent for the first time
    uint64_t retransmitted = 0;   // answers to NACKs
    uint32_t nacks = 0;           // packets that were asked for
    uint32_t nacks_refused = 0;   // beyond the budget
    uint32_t nacks_repeated = 0;  // asked for again too soon, or too often for what is saved up
    uint32_t nacks_unknown = 0;   // not in the ring (any more, or because it never came)
    uint32_t jumps = 0;           // to a later keyframe
    uint32_t keyframe_requests = 0;
    uint32_t twcc_feedback = 0;
    uint32_t bad_rtcp = 0;
    uint32_t remb_kbps = 0;      // what the viewer last said that it can take; 0: nothing
    uint32_t fraction_lost = 0;  // of 256, the worst track in its last report
    uint32_t jitter_ms = 0;      // likewise
};

class Player final : public Media, private live::RtpSink {
  public:
    // formats: at most one of each kind. first_sequence: random.
    Player(MediaParts parts, base::Ref<live::Stream> stream, const std::vector<SendFormat>& formats,
           uint16_t first_sequence);
    ~Player();

    void on_connected(int64_t now_ms) override;
    void on_rtp(std::span<uint8_t>, int64_t) override {}  // who plays sends none
    void on_rtcp(std::span<uint8_t> compound, int64_t now_us) override;
    void on_tick(int64_t now_ms) override;
    int64_t tick_ms() const override { return reports_ < kFirstReports ? 100 : 500; }
    void on_closed() override;
    std::string describe() const override;
    net::RtcQuality quality() const override;

    const PlayerCounters& counters() const { return counters_; }

  private:
    static constexpr size_t kMaxTracks = 2;
    // At one turn; the rest after RtpLane::kPaceMs, so that what a viewer gets at its beginning fits its buffers.
    static constexpr int kPacketsPerTurn = 48;
    // A group of pictures larger than this is not sent to one who comes: he waits for the next. Where the publisher can
    // be asked for one, that comes sooner than much would.
    static constexpr size_t kMaxBacklogBytes = 2 * 1024 * 1024;
    static constexpr size_t kMaxBacklogWhereAsked = 256 * 1024;
    // What is sent again: half of what is sent, and so much saved up.
    static constexpr int32_t kMaxCredit = 512 * 1024, kFirstCredit = 256 * 1024;
    // What must be saved up beyond it for each time that a packet was sent again before: the first answers come first,
    // and who asks on for what he has cannot use up what is for them.
    static constexpr int32_t kCreditPerTry = kMaxCredit / 16;
    // How much of a backlog is passed over when another keyframe has come meanwhile.
    static constexpr uint64_t kMaxBehind = 64;
    static constexpr int64_t kReportEveryMs = 2500;
    // A player puts sound and picture in step from the second report of each on, and a track may begin later than
    // another.
    static constexpr uint32_t kFirstReports = 6;
    static constexpr int64_t kFirstReportsEveryMs = 200;
    // Who is behind for so long, because his connection is full, goes on at the next keyframe.
    static constexpr int64_t kMaxCongestedUs = 1'000'000;

    class Feedback;

    bool on_packets(int64_t now_us) override;
    void on_tracks() override;
    void on_track_restart(size_t lane_track) override;
    void on_stream_end() override;

    SendTrack* track_of(size_t lane_track) {
        const int8_t place = places_[lane_track];
        return place < 0 ? nullptr : &tracks_[static_cast<size_t>(place)];
    }
    int lane_track_of(const SendTrack& track) const;  // -1: the lane has none for it
    void match_tracks();
    void look_for_keyframe(int64_t now_ms);
    void begin_at_keyframe(uint64_t position);
    // True: a packet was sent.
    bool forward(const live::RtpPacket& packet);
    void jump(int64_t now_ms);
    void wait_for_next_keyframe();
    void pass_over(int64_t now_us);
    void on_nack(SendTrack& track, uint16_t sequence, int64_t now_ms);
    void send_report(int64_t now_ms);
    void send_bye();
    void log_counters() const;

    MediaSession& session_;
    config::SnapshotPtr snapshot_;
    base::Ref<live::Stream> stream_;
    live::RtpLane& lane_;
    std::vector<SendTrack> tracks_;
    std::array<int8_t, live::RtpRing::kMaxTracks> places_{};  // in tracks_, of a track of the lane; -1: not for it
    std::array<uint64_t, kMaxTracks> from_{};                 // of each of tracks_: positions before it are not its
    uint64_t cursor_ = 0;                                     // position of the next packet
    int8_t video_ = -1;                                       // in tracks_, where the lane has it too
    bool waits_for_keyframe_ = false;
    bool catching_up_ = false;
    bool joined_ = false;
    uint64_t keyframe_from_ = 0;  // a keyframe before this position is none to begin with
    uint16_t twcc_ = 0;
    int32_t credit_ = kFirstCredit;
    uint32_t clock_version_ = 0;
    uint32_t reports_ = 0;
    int64_t next_report_ms_ = 0;
    RoundTrips round_trips_;
    std::unique_ptr<RetransmissionLog> retransmission_log_;  // from the first NACK on
    PlayerCounters counters_;
};

}  // namespace service::rtc
