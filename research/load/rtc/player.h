#pragma once
// Player: a WHEP player of the load. It decrypts what comes and counts packets, bytes, losses; reports once a second as
// receivers do, and with NACK asks again for what is missing. It decodes nothing.

#include <array>

#include "load/rtc/peer.h"
#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/reception_stats.h"

namespace load::rtc {

class Player final : public Peer {
  public:
    Player(std::string url, bool nack, Shared shared)
        : Peer(std::move(url), false, nack, std::move(shared)), nack_(nack) {}

    struct Counts {
        uint64_t packets = 0, bytes = 0;    // as on the wire, without UDP
        int64_t lost = 0;                   // never came in their place
        uint64_t asked = 0, recovered = 0;  // by NACK
    };
    void begin_window(int64_t now_us);
    void end_window(int64_t now_us);
    Counts window() const;
    int64_t longest_gap_us() const { return longest_gap_us_; }
    int64_t first_packet_us() const { return first_packet_us_; }  // from begun_us(); -1: none yet

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
    Counts counts() const;

    bool nack_;
    std::optional<Track> audio_, video_;
    Counts before_, after_;
    uint64_t packets_ = 0, bytes_ = 0;
    int64_t last_us_ = 0, longest_gap_us_ = 0, first_packet_us_ = -1;
    int64_t next_report_us_ = 0;
};

}  // namespace load::rtc
