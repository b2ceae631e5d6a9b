#pragma once
// SrtOutput: a connection by SRT on which a stream is sent: to a player that has called, or to a server that was
// called. It is a cursor into the stream's messages (live/messages), which all of them share. It begins at a keyframe,
// faster than the stream, and is called by the lane's rounds and by its own timer.

#include <cstdint>
#include <memory>
#include <optional>

#include "live/messages/message_lane.h"
#include "protocol/srt/history.h"
#include "protocol/srt/pacing.h"
#include "runtime/loop/clock.h"
#include "service/relay/srt_channel.h"
#include "service/relay/srt_route.h"

namespace service::relay {

struct SrtOutputOptions {
    int max_rate = -1;                 // bytes/s; -1: no limit; 0: a quarter more than the stream's
    int64_t idle_timeout_ms = 10'000;  // it ends when the peer sends nothing for so long
    bool is_player = true;             // counts for Stream::demand()
};

class SrtOutput final : public SrtChannel, private live::MessageSink {
  public:
    // The references must outlive it.
    SrtOutput(SrtChannelOwner& owner, const SrtPeer& peer, const ::srt::Agreement& agreement,
              const std::optional<SrtKeys>& keys, live::Stream& stream, const SrtOutputOptions& options);
    ~SrtOutput() override;

    // The stream is over: what was published is still sent, and repaired, before it ends. The limit is the caller's.
    void finish();
    // It is sent nothing more.
    void leave() { lane_.leave(*this); }

    const ::srt::Sender& sender() const { return *connection_->sender(); }
    // Until its first packet was sent; -1: none was.
    int64_t first_ms() const { return begun_ ? first_ms_ : -1; }

  private:
    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override {}
    bool is_player() const override { return options_.is_player; }
    void on_stream_end() override;

    void send_data(int64_t now_us) override;
    int64_t deadline() const override;
    void on_key_message(uint16_t subtype, std::span<const uint8_t> contents) override;
    void on_close() override { leave(); }

    ::srt::SendPolicy policy() const;
    void connect(const ::srt::Agreement& agreement, int64_t index);
    bool begin(int64_t now_us);
    bool has_room();
    void send_message(const ::srt::Outgoing& outgoing, std::span<const uint8_t> payload);
    void lend(runtime::Senders& threads, const ::srt::DataHeader& header, std::span<const uint8_t> payload);
    void announce_key(int64_t now_us);

    const SrtOutputOptions options_;
    live::MessageLane& lane_;
    bool begun_ = false;
    const int64_t made_us_ = runtime::now_us();
    int64_t first_ms_ = -1;
    bool is_finishing_ = false;
    std::unique_ptr<::srt::SenderKeys> keys_;  // null: it does not encrypt
    runtime::RoutePtr<SrtRoute> route_;        // null: nothing was lent, or there is a new key
    uint64_t route_announcements_ = 0;         // of the keys that the route has
};

}  // namespace service::relay
