#pragma once
// UdpPort: a local UDP port as a Wire that all sessions share (runtime/socket/datagram_port.h).

#include <memory>

#include "runtime/socket/datagram_port.h"
#include "service/rtc/connection/wire.h"

namespace service::rtc {

class UdpPort final : public Wire, private runtime::DatagramUser {
  public:
    static base::Result<std::unique_ptr<UdpPort>> open(const runtime::SocketAddress& address, WireUser& user);

    uint16_t port() const { return port_->port(); }
    void flush() { port_->flush(); }

    uint8_t* reserve(size_t max_bytes) override { return port_->reserve(max_bytes); }
    void commit(size_t bytes, const base::Endpoint& to, uint32_t flow, uint16_t source) override {
        port_->commit(bytes, to, flow, source);
    }
    uint16_t destination() const override { return destination_; }
    uint16_t source_for(const base::Endpoint& to, uint16_t destination) override {
        return port_->source_for(to, destination);
    }
    runtime::DatagramPort* shared_port() override { return port_.get(); }
    bool pass_on(std::span<const uint8_t> bytes, const base::Endpoint& from) override {
        return port_->pass_on(bytes, from, destination_);
    }
    bool congested() const override { return port_->is_full(); }

  private:
    explicit UdpPort(WireUser& user) : user_(user) {}
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort&, int64_t now_us) override {
        destination_ = packet.destination;
        user_.on_datagram(packet.bytes, packet.from, *this, now_us);
    }
    // Answers and feedback are sent now, not at the end of the loop's iteration.
    void on_batch_end() override { port_->flush(); }

    WireUser& user_;
    uint16_t destination_ = 0;  // of the datagram that is processed
    std::unique_ptr<runtime::DatagramPort> port_;
};

}  // namespace service::rtc
