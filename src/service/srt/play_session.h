#pragma once
// PlaySession: a player by SRT: a cursor into its stream's messages (live/messages), which all players share. It begins
// at a keyframe, faster than the stream, and is called by the lane's rounds and by its own timer.

#include <cstdint>
#include <memory>

#include "live/messages/message_lane.h"
#include "protocol/srt/history.h"
#include "protocol/srt/pacing.h"
#include "service/srt/session.h"
#include "service/srt/stats.h"

namespace service::srt {

net::SessionType srt_play_type();

class PlaySession final : public Session, private live::MessageSink {
  public:
    PlaySession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats);
    ~PlaySession() override;

    bool is_unserved() const override { return !stream().published(); }

  private:
    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override {}
    void on_stream_end() override;
    void send_data(int64_t now_us) override;
    int64_t deadline() const override;
    void on_key_message(uint16_t subtype, std::span<const uint8_t> contents) override;
    void on_second(int64_t now_us) override;
    void on_close() override;

    ::srt::SendPolicy policy() const;
    void connect(const ::srt::Agreement& agreement, int64_t index);
    bool begin();
    void send(const ::srt::Outgoing& outgoing, std::span<const uint8_t> payload);
    void announce_key(int64_t now_us);
    void record_stats();

    live::MessageLane& lane_;
    const int max_rate_;  // bytes/s; 0: none
    const int64_t idle_timeout_us_;
    Stats& stats_;
    ::srt::Sender::Counters recorded_{};  // in stats_
    bool begun_ = false;
    std::unique_ptr<::srt::SenderKeys> keys_;  // null: it does not encrypt
};

}  // namespace service::srt
