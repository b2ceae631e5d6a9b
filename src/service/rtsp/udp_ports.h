#pragma once
// UdpPorts: two UDP sockets, for RTP and for RTCP: those of the server, which all sessions share, or of a client. A
// session claims the addresses of its client at SETUP; datagrams of others are dropped. Datagrams are sent in batches
// (runtime/socket/udp_batch.h). Streams that have sent their share of a moment are called again soon, in one pass.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/rtsp/transport.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/udp.h"
#include "runtime/socket/udp_batch.h"

namespace service::rtsp {

class UdpReceiver {
  public:
    // A datagram from an address that it has claimed. Valid during the call. Must not yield.
    virtual void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) = 0;

  protected:
    ~UdpReceiver() = default;
};

class PacedStream {
  public:
    virtual void on_pace() = 0;

  protected:
    ~PacedStream() = default;

  private:
    friend class UdpPorts;
    bool waits_ = false;
};

class UdpPorts {
  public:
    static constexpr int64_t kPaceMs = 5;

    // address: of RTP; RTCP has the next port. kSystem: one of them is in use.
    static base::Result<std::unique_ptr<UdpPorts>> open(const runtime::SocketAddress& address);
    // Two ports of the system's choice, an even one and the next. kSystem: no two were free.
    static base::Result<std::unique_ptr<UdpPorts>> open_any();
    ~UdpPorts();  // yields

    ::rtsp::Ports ports() const { return {sides_[0].socket->port(), sides_[1].socket->port()}; }

    // False: another session, or another track, has one of them.
    bool is_free_for(const UdpReceiver& receiver, size_t track, const base::IpAddress& ip,
                     const ::rtsp::Ports& ports) const;
    // Only of free ones.
    void claim(UdpReceiver& receiver, size_t track, const base::IpAddress& ip, const ::rtsp::Ports& ports);
    void release(const base::IpAddress& ip, const ::rtsp::Ports& ports);
    // Of RTP and of RTCP: two of each track.
    size_t claims() const { return sides_[0].claims.size() + sides_[1].claims.size(); }

    // Copies the datagram; it is sent by the end of the loop's iteration. Only to an address that was claimed.
    void send(bool rtcp, const runtime::UdpAddress& to, std::span<const uint8_t> bytes);
    // RTP messages that the kernel took so far; it makes several datagrams of one where it can.
    uint64_t messages() const { return sides_[0].batch->counters().messages; }
    runtime::UdpStats stats();  // of both sockets; makes system calls
    bool can_segment() const { return sides_[0].batch->uses_gso(); }
    // The sockets take nothing at the moment.
    bool is_full() const { return sides_[0].batch->full() || sides_[1].batch->full(); }

    // For a stream's use within one call, so that not each has memory of its own.
    std::vector<std::span<const uint8_t>>& frames() { return frames_; }

    // on_pace() is called in kPaceMs, once.
    void wake_later(PacedStream& stream);
    void forget(PacedStream& stream);

  private:
    using Address = std::pair<base::IpAddress, uint16_t>;
    struct Claim {
        UdpReceiver* receiver = nullptr;
        size_t track = 0;
    };
    struct Side {
        std::unique_ptr<runtime::UdpSocket> socket;
        std::unique_ptr<runtime::UdpBatch> batch;
        std::map<Address, Claim> claims;
        runtime::Task receiver;
    };
    UdpPorts() = default;
    base::Result<void> open_side(bool rtcp, const runtime::SocketAddress& address);
    base::Result<void> start();
    void receive(bool rtcp);
    void pace();

    std::array<Side, 2> sides_;  // of RTP, of RTCP
    bool is_servers_ = false;
    std::vector<PacedStream*> waiting_, waking_;
    std::vector<std::span<const uint8_t>> frames_;
    runtime::Event wake_{"a paced stream"};
    runtime::Task pacer_;
};

}  // namespace service::rtsp
