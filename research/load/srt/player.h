#pragma once
// Player: an SRT player of the load. It acknowledges and asks again for what is missing as receivers do, counts, and
// decodes nothing.

#include "load/packet_players.h"
#include "load/srt/peer.h"

namespace load::srt {

class Player final : public Peer, private ::srt::DataSink {
  public:
    // loss: percent of the data packets that are thrown away when they come.
    Player(PeerOptions options, double loss, Ledger& ledger)
        : Peer(std::move(options), ledger), meter_(ledger), loss_(loss) {}
    ~Player() override { stop(); }

    void begin_window(int64_t now_us) { meter_.begin_window(now_us, counts()); }
    void end_window(int64_t now_us) { meter_.end_window(now_us, counts()); }
    const PacketMeter& meter() const { return meter_; }
    // Messages that are no transport stream: encrypted by another key, or damaged.
    uint64_t damaged() const { return damaged_; }

  private:
    ::srt::Connection connect(const ::srt::Agreement& agreement) override;
    bool on_packet(size_t bytes, int64_t now_us) override;
    void on_message(const Message& message) override;
    PacketCounts counts() const;

    PacketMeter meter_;
    const double loss_;
    uint64_t damaged_ = 0;
};

}  // namespace load::srt
