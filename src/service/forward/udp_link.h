#pragma once
// UdpLink: sends a stream as a transport stream by UDP (to one receiver or to a multicast group), plain or in RTP
// (RFC 3551, type 33). Nobody answers: it sends from a keyframe on, faster than the stream where it is late, and ends
// only with the stream, or when nothing can be sent.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "live/messages/message_lane.h"
#include "protocol/srt/pacing.h"
#include "runtime/loop/timers.h"
#include "runtime/socket/datagram_port.h"
#include "service/forward/udp_target.h"
#include "service/push_link.h"

namespace service::forward {

class UdpLink final : public PushLink,
                      private PacketSender,
                      private live::MessageSink,
                      private runtime::Timer,
                      private runtime::DatagramUser {
  public:
    // shown: for logs and lists. The targets must outlive it.
    UdpLink(UdpTargets& targets, UdpTarget target, std::string shown, base::Ref<live::Stream> stream);
    ~UdpLink() override;  // yields

    net::SessionType session_type() const override;
    const std::string& shown_url() const override { return shown_; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override { return Refusal::kNone; }
    int64_t tick_ms() const override { return 1'000; }
    base::Result<void> on_tick() override;

  private:
    // PacketSender
    std::string peer_ip() const override { return to_.ip.text(); }
    void start(PacketSenderUser& user) override;
    void finish() override;
    void abort(std::string_view why, base::CloseReason reason) override { end(why, reason); }
    net::Traffic traffic() const override { return {0, sent_bytes_}; }
    // live::MessageSink
    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override {}
    bool is_player() const override { return false; }
    void on_stream_end() override;
    // runtime::Timer
    void on_due() override;
    // runtime::DatagramUser
    void on_datagram(const runtime::UdpPacket&, runtime::DatagramPort&, int64_t) override {}

    void pump(int64_t now_us);
    bool begin_at_start();
    void send(const live::Message& message);
    void end(std::string_view why, base::CloseReason reason);

    UdpTargets& targets_;
    const UdpTarget target_;
    const std::string shown_;
    const base::Ref<live::Stream> stream_;
    live::MessageLane& lane_;
    base::Endpoint to_{};
    UdpTargets::Claim claim_;
    std::unique_ptr<runtime::DatagramPort> port_;
    PacketSenderUser* user_ = nullptr;  // null: not started, or ended
    std::optional<uint64_t> next_;      // of the lane's messages
    ::srt::TokenBucket bucket_;
    bool is_finishing_ = false;
    uint64_t sent_bytes_ = 0;
    runtime::UdpStats stats_;  // of the last tick
    // Of RTP.
    uint16_t sequence_ = 0;
    uint32_t ssrc_ = 0;
};

}  // namespace service::forward
