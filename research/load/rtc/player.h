#pragma once
// Player: a WHEP player of the load. It decrypts what comes and counts packets, bytes, losses; reports once a second as
// receivers do, and with NACK asks again for what is missing. It decodes nothing.

#include <array>

#include "load/packet_players.h"
#include "load/rtc/peer.h"
#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/reception_stats.h"

namespace load::rtc {

class Player final : public Peer {
  public:
    Player(std::string url, bool nack, Shared shared)
        : Peer(std::move(url), false, nack, std::move(shared)), nack_(nack), meter_(ledger()) {}

    void begin_window(int64_t now_us) { meter_.begin_window(now_us, counts()); }
    void end_window(int64_t now_us) { meter_.end_window(now_us, counts()); }
    const PacketMeter& meter() const { return meter_; }

  private:
    struct Track {
        uint32_t ssrc;
        rtp::ReceptionStats stats;
        rtp::NackTracker nack;
    };
    void on_packet(std::span<const uint8_t> datagram, int64_t now_us) override;
    void on_rtp(std::span<uint8_t> packet, int64_t now_us) override;
    void on_rtcp(std::span<const uint8_t> compound, int64_t now_us) override;
    void on_tick(int64_t now_us) override;
    void report(int64_t now_us);
    void ask(Track& track, int64_t now_ms);
    PacketCounts counts() const;

    bool nack_;
    std::optional<Track> audio_, video_;
    PacketMeter meter_;
    int64_t next_report_us_ = 0;
};

}  // namespace load::rtc
