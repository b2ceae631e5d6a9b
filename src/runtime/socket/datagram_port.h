#pragma once
// DatagramPort: a local UDP port that many peers share. Its coroutine receives in batches and passes each datagram to
// the port's user. What is sent within one iteration of the loop goes to the kernel together (udp_batch.h), and from
// the address that a peer has asked, where the port is bound to several. Datagrams that are lost are counted in the
// port's statistics. It knows no peers and no sessions.

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/endpoint.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/lent_datagrams.h"
#include "runtime/socket/udp.h"
#include "runtime/socket/udp_batch.h"

namespace runtime {

class DatagramPort;

class DatagramUser {
  public:
    // Must not yield, and must not destroy the port. packet: its bytes are valid, and may be written to, during the
    // call. now_us: by the loop's clock, of the batch.
    virtual void on_datagram(const UdpPacket& packet, DatagramPort& port, int64_t now_us) = 0;
    // Datagrams that were received together have been passed.
    virtual void on_batch_end() {}

  protected:
    ~DatagramUser() = default;
};

class DatagramPort {
  public:
    // what: for the log, "WebRTC". user: must outlive it. kSystem: the address is in use.
    static base::Result<std::unique_ptr<DatagramPort>> open(const SocketAddress& address, const UdpOptions& options,
                                                            std::string what, DatagramUser& user);
    // Yields until its coroutines have ended, and blocks until what sender threads have to send from it is sent.
    ~DatagramPort();
    DatagramPort(const DatagramPort&) = delete;

    uint16_t port() const { return socket_->port(); }
    UdpStats stats() { return socket_->stats(); }  // makes a system call

    // As UdpBatch's.
    uint8_t* reserve(size_t max_bytes) { return batch().reserve(max_bytes); }
    void commit(size_t bytes, const base::Endpoint& to, uint32_t flow = 0, uint16_t source = 0) {
        batch_->commit(bytes, to, flow, source);
    }
    // For what a sender thread sends from this port, after a flush(). As for commit(). Valid while the port lives.
    DatagramTarget target(const base::Endpoint& to, uint16_t source = 0);
    // Copies the datagram. False: there is no room, and it is counted as lost.
    bool send(std::span<const uint8_t> bytes, const base::Endpoint& to);
    void flush() {
        if (batch_ && batch_->has_pending()) batch_->flush();
    }
    // The socket takes nothing at the moment.
    bool is_full() const { return batch_ && batch_->full(); }
    // The source for what is sent to a peer: UdpSocket::source_for().
    uint16_t source_for(const base::Endpoint& to, uint16_t destination) {
        return destination == 0 ? uint16_t{0} : socket_->source_for(to, destination);
    }
    // The kernel makes several datagrams of one message.
    bool can_segment() { return batch().uses_gso(); }
    // A datagram that belongs to no peer of this process: where another process shares the port, and does not receive
    // (datagram_relay.h), it gets it. False: there is none. bytes: as received.
    bool pass_on(std::span<const uint8_t> bytes, const base::Endpoint& from, uint16_t destination) const;
    // The other side. Null: this process has no such port. local: its own address, as the socket has it.
    static DatagramPort* find(const base::Endpoint& local);
    void take_from_other_process(std::span<uint8_t> bytes, const base::Endpoint& from,
                                 const base::IpAddress& destination);
    // Of all ports that got such datagrams.
    static void end_batches();

    uint64_t messages() const { return batch_ ? batch_->counters().messages : 0; }  // that the kernel took so far

  private:
    DatagramPort(std::unique_ptr<UdpSocket> socket, std::string what, DatagramUser& user);
    UdpBatch& batch() {
        if (!batch_) [[unlikely]]
            batch_.emplace(*socket_);
        return *batch_;
    }
    void receive();

    std::unique_ptr<UdpSocket> socket_;
    std::optional<UdpBatch> batch_;  // from the first datagram sent on
    const std::string what_;
    DatagramUser& user_;
    const base::Endpoint local_;
    bool took_from_other_process_ = false;
    Task receiver_;
    bool lent_ = false;  // a sender thread may send from it
};

}  // namespace runtime
