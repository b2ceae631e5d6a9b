#pragma once
// UdpPorts: two UDP ports, for RTP and for RTCP (runtime/socket/datagram_port.h): those of the server, which all
// sessions share, or of a client. A session claims the addresses of its peer; datagrams of others are dropped.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/rtsp/transport.h"
#include "runtime/socket/datagram_port.h"

namespace service::rtsp {

class UdpReceiver {
  public:
    // A datagram from an address that it has claimed. Valid during the call. Must not yield.
    virtual void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) = 0;

  protected:
    ~UdpReceiver() = default;
};

class UdpPorts final : private runtime::DatagramUser {
  public:
    // address: of RTP; RTCP has the next port. refused: counts the datagrams that nobody has claimed; must outlive the
    // ports. kSystem: one of them is in use.
    static base::Result<std::unique_ptr<UdpPorts>> open(const runtime::SocketAddress& address, uint64_t& refused);
    // Two ports of the system's choice, an even one and the next. kSystem: no two were free.
    static base::Result<std::unique_ptr<UdpPorts>> open_any(uint64_t& refused);
    ~UdpPorts();  // yields

    ::rtsp::Ports ports() const { return {sides_[0].port->port(), sides_[1].port->port()}; }

    // False: another session, or another track, has one of them.
    bool is_free_for(const UdpReceiver& receiver, size_t track, const base::IpAddress& ip,
                     const ::rtsp::Ports& ports) const;
    // Only of free ones.
    void claim(UdpReceiver& receiver, size_t track, const base::IpAddress& ip, const ::rtsp::Ports& ports);
    void release(const base::IpAddress& ip, const ::rtsp::Ports& ports);
    // All ports of that host, for one track: a camera may send from others than it says.
    void claim_host(UdpReceiver& receiver, size_t track, const base::IpAddress& ip);
    // The port from which the newest datagram of a claimed host's RTCP arrived; 0: none did.
    uint16_t rtcp_port_of(const base::IpAddress& ip) const;
    // The number of claims of RTP and of RTCP: two of each track.
    size_t claims() const { return sides_[0].claims.size() + sides_[1].claims.size(); }

    // Copies the datagram; it is sent by the end of the loop's iteration. Only to an address that was claimed.
    void send(bool rtcp, const base::Endpoint& to, std::span<const uint8_t> bytes);
    // Sends what was given so far: before a sender thread sends from these ports.
    void flush();
    // For that thread: DatagramPort::target().
    runtime::DatagramTarget target(bool rtcp, const base::Endpoint& to) { return sides_[rtcp].port->target(to); }
    // RTP messages that the kernel took so far; it makes several datagrams of one where it can.
    uint64_t messages() const { return sides_[0].port->messages(); }
    runtime::UdpStats stats();  // of both sockets; makes system calls
    bool can_segment() const { return sides_[0].port->can_segment(); }
    // The sockets take nothing at the moment.
    bool is_full() const { return sides_[0].port->is_full() || sides_[1].port->is_full(); }

    // For a stream's use within one call, so that not each has memory of its own.
    std::vector<std::span<const uint8_t>>& frames() { return frames_; }

  private:
    struct Claim {
        UdpReceiver* receiver = nullptr;
        size_t track = 0;
        uint16_t from = 0;  // the port of the newest datagram
    };
    struct Side {
        std::map<base::Endpoint, Claim> claims;  // with port 0: a host's
        std::unique_ptr<runtime::DatagramPort> port;
    };
    explicit UdpPorts(uint64_t& refused) : refused_(refused) {}
    base::Result<void> open_side(bool rtcp, const runtime::SocketAddress& address);
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) override;

    std::array<Side, 2> sides_;  // of RTP, of RTCP
    bool for_clients_ = false;   // the ports of the server, and not those of a pull or a forward
    uint64_t& refused_;
    std::vector<std::span<const uint8_t>> frames_;
};

}  // namespace service::rtsp
