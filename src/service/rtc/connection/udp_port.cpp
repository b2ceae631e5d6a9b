#include "service/rtc/connection/udp_port.h"

namespace service::rtc {
namespace {

// Bursts occur when a keyframe goes to many viewers, or many of them send reports.
constexpr int kBufferBytes = 4 * 1024 * 1024;

}  // namespace

base::Result<std::unique_ptr<UdpPort>> UdpPort::open(const runtime::SocketAddress& address, WireUser& user) {
    std::unique_ptr<UdpPort> port(new UdpPort(user));
    port->port_ = TRY(runtime::DatagramPort::open(address,
                                                  {.receive_buffer_bytes = kBufferBytes,
                                                   .send_buffer_bytes = kBufferBytes,
                                                   .reports_destination = true,
                                                   .for_clients = true},
                                                  "WebRTC", *port));
    return port;
}

}  // namespace service::rtc
