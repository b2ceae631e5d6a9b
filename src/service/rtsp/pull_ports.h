#pragma once
// PullPorts: two UDP sockets of one track that is pulled, for RTP and for RTCP. The ports are the system's choice, an
// even one and the next. Datagrams from other addresses than the camera's are dropped.

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ip.h"
#include "base/result.h"
#include "protocol/rtsp/transport.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/udp.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

class PullPorts {
  public:
    // camera: its address. receiver: must outlive it; called with `track`. kSystem: no two ports were free.
    static base::Result<std::unique_ptr<PullPorts>> open(UdpReceiver& receiver, size_t track,
                                                         const base::IpAddress& camera);
    ~PullPorts();  // yields until its coroutines have ended
    PullPorts(const PullPorts&) = delete;

    ::rtsp::Ports ports() const { return {sides_[0].socket->port(), sides_[1].socket->port()}; }
    // An RTCP datagram, to that port of the camera, or where that is 0 to the one that its RTCP comes from; nowhere
    // while none came. It is dropped while the socket is full.
    void send_rtcp(uint16_t port, std::span<const uint8_t> bytes);

  private:
    struct Side {
        std::unique_ptr<runtime::UdpSocket> socket;
        uint16_t peer_port = 0;  // where the last datagram came from
        runtime::Task receiver;
    };
    PullPorts(UdpReceiver& receiver, size_t track, const base::IpAddress& camera)
        : receiver_(receiver), track_(track), camera_(camera) {}
    base::Result<void> bind();
    base::Result<void> start();
    void receive(bool rtcp);

    UdpReceiver& receiver_;
    const size_t track_;
    const base::IpAddress camera_;
    std::array<Side, 2> sides_;  // of RTP, of RTCP
};

}  // namespace service::rtsp
