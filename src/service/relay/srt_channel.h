#pragma once
// SrtChannel: a connection by SRT after its handshake, whichever side has called: it sends what is due by its port, and
// has a timer. What it does with media is in srt_input.h (it receives) and srt_output.h (it sends). It has no
// coroutine, and no function yields.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/close_reason.h"
#include "base/endpoint.h"
#include "net/sessions/traffic.h"
#include "protocol/srt/agreement.h"
#include "protocol/srt/connection.h"
#include "protocol/srt/session_keys.h"
#include "runtime/loop/timers.h"
#include "runtime/socket/datagram_port.h"
#include "service/relay/srt_quality.h"

namespace service::relay {

class SrtChannelOwner {
  public:
    // The context of its log lines.
    virtual const std::string& channel_id() const = 0;
    // It has ended: once. The owner calls close(), and destroys it, later.
    virtual void on_channel_end(std::string_view why, base::CloseReason reason) = 0;
    // About once a second. It may end the channel.
    virtual void on_channel_second(int64_t now_us) = 0;

  protected:
    ~SrtChannelOwner() = default;
};

// The other side.
struct SrtPeer {
    runtime::DatagramPort* port = nullptr;  // outlives the channel
    base::Endpoint address{};
    uint16_t source = 0;  // DatagramPort::source_for()
};

// The keys that the caller has sent.
struct SrtKeys {
    ::srt::SessionKeys keys{};
    ::srt::KeyBasis basis{};
};

class SrtChannel : private runtime::Timer {
  public:
    SrtChannel(const SrtChannel&) = delete;
    virtual ~SrtChannel() = default;

    // From the peer's address, for this connection's id. The bytes may be written to.
    void on_datagram(std::span<uint8_t> datagram, int64_t now_us);
    // Sends a copy of it, as it is.
    void send(std::span<const uint8_t> datagram);
    // The first reason counts, and is told to the owner.
    void end(std::string_view why, base::CloseReason reason);
    bool ended() const { return ended_; }
    // Sends the peer a SHUTDOWN. What it has of its stream is free then. Nothing is called any more.
    void close();

    const ::srt::Connection& connection() const { return *connection_; }
    const net::Traffic& traffic() const { return traffic_; }
    net::SrtQuality quality() const { return meter_.quality(*connection_, key_bytes_); }
    // For the log: "delay 120 ms, encrypted, peer 1.5.3".
    std::string describe() const;

  protected:
    // The derived class makes the connection, and calls schedule() then: a peer that sends nothing more ends by the
    // timer. key_bytes: 0: not encrypted.
    SrtChannel(SrtChannelOwner& owner, const SrtPeer& peer, size_t key_bytes);

    const std::string& id() const { return owner_.channel_id(); }
    runtime::DatagramPort& port() { return *peer_.port; }
    // Room for a datagram, and its end. Null: there is none, and the datagram is lost. Behind what a sender thread has
    // not sent yet.
    uint8_t* reserve(size_t bytes);
    void commit(size_t bytes);
    void count_sent(size_t bytes) { traffic_.sent_bytes += bytes; }
    runtime::DatagramTarget datagram_target() { return port().target(peer_.address, peer_.source); }
    ::srt::Target target(int64_t now_us) const {
        return {connection_->agreement().peer_id, connection_->timestamp(now_us)};
    }

    // Sends what is due: control packets, then what the derived class has.
    void pump(int64_t now_us);
    // Sets the timer for what is due next.
    void schedule(int64_t now_us);
    virtual void send_data(int64_t now_us) = 0;
    // When send_data() or the connection has something to do, us.
    virtual int64_t deadline() const = 0;
    // The contents of an EXT/KMREQ or EXT/KMRSP of the peer.
    virtual void on_key_message(uint16_t subtype, std::span<const uint8_t> contents) = 0;
    virtual void on_close() {}

    std::optional<::srt::Connection> connection_;  // set by the derived class
    std::optional<uint8_t> thread_;                // that may send what it has; nothing: the loop does

  private:
    void on_due() override;
    void send_control(int64_t now_us);
    void check_end();

    static constexpr int64_t kSecondUs = 1'000'000;

    SrtChannelOwner& owner_;
    const SrtPeer peer_;
    const size_t key_bytes_;
    bool ended_ = false;
    bool lends_ = false;  // the datagram that is reserved
    int64_t second_us_;
    net::Traffic traffic_;
    SrtMeter meter_;
};

}  // namespace service::relay
