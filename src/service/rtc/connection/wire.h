#pragma once
// Wire: the transport of a session's datagrams: a local UDP port shared by all sessions, or one TCP connection
// (ICE-TCP). WireUser: the receiver of the datagrams. A wire knows nothing of sessions.

#include <cstdint>
#include <cstring>
#include <span>

#include "base/endpoint.h"

namespace runtime {
class DatagramPort;
}

namespace service::rtc {

class Wire {
  public:
    // Returns a buffer for a datagram of at most that many bytes, valid until commit(). Null: there is no room; the
    // datagram is counted as lost.
    virtual uint8_t* reserve(size_t max_bytes) = 0;
    // Sends the datagram soon. to: ignored by a TCP connection, which sends to its peer. flow: datagrams of the same
    // flow (an SSRC) keep their order. source: see destination().
    virtual void commit(size_t bytes, const base::Endpoint& to, uint32_t flow = 0, uint16_t source = 0) = 0;
    // Identifies the local address that received the datagram now being processed: a number, so that the answer can be
    // sent from that address. 0 for a wire with one address.
    virtual uint16_t destination() const { return 0; }
    // The source number to use for everything sent to the peer; 0 if the kernel would choose that address anyway. Asks
    // the kernel.
    virtual uint16_t source_for(const base::Endpoint&, uint16_t destination) { return destination; }
    // A STUN request with valid integrity was received over it: a TCP connection is not closed as unconfirmed.
    virtual void confirm() {}
    virtual bool is_tcp() const { return false; }
    // A datagram that belongs to no session: another process of the server may have one (DatagramPort::pass_on()).
    // False: there is none. bytes: as received.
    virtual bool pass_on(std::span<const uint8_t>, const base::Endpoint& /*from*/) { return false; }
    // The port that sender threads may send from for the sessions of this wire; null: only the loop sends.
    virtual runtime::DatagramPort* shared_port() { return nullptr; }
    // Much data waits for the peer, or this machine, to take it.
    virtual bool congested() const = 0;

    bool send(std::span<const uint8_t> bytes, const base::Endpoint& to, uint16_t source = 0) {
        uint8_t* room = reserve(bytes.size());
        if (!room) return false;
        std::memcpy(room, bytes.data(), bytes.size());
        commit(bytes.size(), to, 0, source);
        return true;
    }

  protected:
    ~Wire() = default;
};

// Must not yield, and must not end the wire for which it is called.
class WireUser {
  public:
    // bytes: valid and modifiable during the call. now_us: monotonic, the time of the batch.
    virtual void on_datagram(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us) = 0;
    // The wire is about to be destroyed.
    virtual void on_wire_closed(Wire& wire) = 0;

  protected:
    ~WireUser() = default;
};

}  // namespace service::rtc
