#pragma once
// Encoder: the session of a sender that has no protocol of its own: one that sends a transport stream to a UDP port. It
// publishes from the admission by the gate until nothing has come for publish.normal_timeout.

#include <cstdint>
#include <string>

#include "base/endpoint.h"
#include "service/caster/caster_session.h"
#include "service/caster/cell_input.h"

namespace service::caster {

class UdpPort;

net::SessionType udp_publish_type();

class Encoder final : public TsSession, private CellUser {
  public:
    // port: tells it when it is gone (leave_port()).
    Encoder(Service& service, UdpPort& port, std::string output, const base::Endpoint& peer);
    ~Encoder() override;

    // Spawns its coroutine. False: none was available.
    bool start();
    void on_datagram(std::span<const uint8_t> datagram, int64_t now_us);
    // The sender has started again, and sends from another port of its address.
    void continue_from(const base::Endpoint& peer);
    const base::Endpoint& peer() const { return peer_; }
    int64_t silent_us(int64_t now_us) const { return now_us - heard_us_; }
    void leave_port() { port_ = nullptr; }

    size_t unfinished_input() const override { return TsSession::unfinished_input() + input_.memory(); }

  private:
    void run();
    base::Result<void> serve();
    bool peer_alive() const override;

    // CellUser
    void on_cells(std::span<const uint8_t> bytes, int64_t now_us) override { feed(bytes, now_us); }
    void on_gap() override { skip_gap(); }

    UdpPort* port_;  // null: it is gone
    const std::string output_url_;
    base::Endpoint peer_;
    CellInput input_;
    int64_t heard_us_ = 0;
};

}  // namespace service::caster
