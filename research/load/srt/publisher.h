#pragma once
// Publisher: an SRT publisher of the load. It sends a script in real time, and again what it is asked for.

#include "load/srt/peer.h"
#include "load/srt/ts_script.h"
#include "protocol/srt/history.h"

namespace load::srt {

class Publisher final : public Peer, private ::srt::History {
  public:
    // The script outlives it.
    Publisher(PeerOptions options, const TsScript& script, Ledger& ledger)
        : Peer(std::move(options), ledger), script_(script) {}
    ~Publisher() override { stop(); }

    uint64_t repairs() const { return connection() ? connection()->sender()->counters().repairs : 0; }

  private:
    ::srt::Connection connect(const ::srt::Agreement& agreement) override;
    void send_data(int64_t now_us) override;
    int64_t data_deadline() const override;

    // History: the script from the opening on. Index 1 is its first message.
    int64_t first() const override { return std::max<int64_t>(end_ - kKept, 1); }
    int64_t end() const override { return end_; }
    Entry entry(int64_t index) const override;
    ::srt::SendPolicy policy() const { return {.stream_rate = static_cast<int64_t>(script_.kbps() * 125)}; }

    static constexpr int64_t kKept = 4096;

    const TsScript& script_;
    int64_t start_us_ = 0;
    int64_t end_ = 1;
};

}  // namespace load::srt
