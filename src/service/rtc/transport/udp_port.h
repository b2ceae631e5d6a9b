#pragma once
// UdpPort: one local UDP socket shared by all sessions. One coroutine receives in batches; datagrams are sent in
// batches (runtime/socket/udp_batch.h).

#include <memory>

#include "runtime/loop/coroutine.h"
#include "runtime/socket/udp.h"
#include "runtime/socket/udp_batch.h"
#include "service/rtc/transport/wire.h"

namespace service::rtc {

class UdpPort final : public Wire {
  public:
    static base::Result<std::unique_ptr<UdpPort>> open(const runtime::SocketAddress& address, WireUser& user);
    ~UdpPort();  // yields

    uint16_t port() const { return socket_->port(); }
    runtime::UdpBatch& batch() { return batch_; }

    uint8_t* reserve(size_t max_bytes) override { return batch_.reserve(max_bytes); }
    void commit(size_t bytes, const stun::Address& to, uint32_t flow, uint16_t source) override;
    uint16_t destination() const override { return came_to_; }
    uint16_t source_for(const stun::Address& to, uint16_t destination) override {
        return destination == 0 ? uint16_t{0} : socket_->source_for({to.ip, to.port}, destination);
    }
    bool congested() const override { return batch_.full(); }

  private:
    UdpPort(std::unique_ptr<runtime::UdpSocket> socket, WireUser& user);
    void receive_loop();

    std::unique_ptr<runtime::UdpSocket> socket_;
    runtime::UdpBatch batch_;
    WireUser& user_;
    uint16_t came_to_ = 0;
    runtime::Task receiver_;
};

}  // namespace service::rtc
