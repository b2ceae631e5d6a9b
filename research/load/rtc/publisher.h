#pragma once
// Publisher: a WHIP publisher of the load. It sends its packets in real time, again and again, with sender reports, and
// counts what it is asked for.

#include "load/histogram.h"
#include "load/rtc/packets.h"
#include "load/rtc/peer.h"
#include "protocol/rtp/unwrap.h"

namespace load::rtc {

class Publisher final : public Peer {
  public:
    // The packets outlive it.
    Publisher(std::string url, const Packets& packets, Shared shared)
        : Peer(std::move(url), true, true, std::move(shared)), packets_(packets) {}

    // Sends what is due; for the one coroutine that sends for all.
    void send_due(int64_t now_us);
    struct Heard {
        uint64_t keyframe_requests = 0, nacks = 0, reports = 0, transport_feedback = 0;
    };
    const Heard& heard() const { return heard_; }

  private:
    struct Track {
        uint64_t index = 0;  // of its packets, from 0
        uint32_t sent = 0, octets = 0;
    };
    void on_packet(std::span<const uint8_t>, int64_t) override {}
    void on_rtcp(std::span<const uint8_t> compound, int64_t now_us) override;
    void on_tick(int64_t now_us) override;
    void send_one(const Packets::Packet& packet, int64_t since_begin_us);
    uint32_t timestamp(bool video, int64_t since_begin_us) const;
    std::optional<uint8_t> payload_type(bool video) const {
        return video ? answer().video_payload : answer().audio_payload;
    }

    const Packets& packets_;
    Track audio_, video_;
    Heard heard_;
    int64_t start_us_ = 0;
    size_t next_ = 0;
    int64_t round_ = 0;
    uint16_t transport_sequence_ = 0;
    int64_t next_report_us_ = 0;
};

}  // namespace load::rtc
