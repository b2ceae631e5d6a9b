#pragma once
// PlaySession: a player by SRT: its stream's messages are sent to it (service/relay/srt_output.h).

#include "net/sessions/session.h"
#include "service/relay/srt_output.h"
#include "service/srt/session.h"
#include "service/srt/stats.h"

namespace service::srt {

net::SessionType srt_play_type();

class PlaySession final : public Session {
  public:
    PlaySession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats);

    bool is_unserved() const override { return !stream().published(); }
    net::SessionFigures figures() const override;

  private:
    void on_channel_second(int64_t now_us) override;
    void on_close() override;
    void record_stats();

    Stats& stats_;
    ::srt::Sender::Counters recorded_{};  // in stats_
    const uint64_t frames_before_;        // of its stream
    relay::SrtOutput output_;
};

}  // namespace service::srt
