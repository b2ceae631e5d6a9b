#pragma once
// Wire: where a session's datagrams go out and come from: a UDP port of ours, shared by all, or one TCP connection
// (ICE-TCP). And who takes what comes. No wire knows of sessions.

#include <cstdint>
#include <cstring>
#include <span>

#include "protocol/stun/address.h"

namespace service::rtc {

class Wire {
  public:
    // Room for a datagram of that many bytes at most, until commit(). Null: there is none; it is counted as lost.
    virtual uint8_t* reserve(size_t most_bytes) = 0;
    // to: of a TCP connection its peer, whatever is said. Sent soon. flow: whose datagrams must keep their order among
    // each other (an SSRC). source: see came_to().
    virtual void commit(size_t bytes, const stun::Address& to, uint32_t flow = 0, uint16_t source = 0) = 0;
    // Which of our addresses the datagram came to that is being handed on: a number, for an answer from there. Of a
    // wire with one address 0.
    virtual uint16_t came_to() const { return 0; }
    // That number for all that goes to the peer; 0 where it would come from there anyway. Asks the kernel.
    virtual uint16_t source_for(const stun::Address&, uint16_t came_to) { return came_to; }
    // Something of right integrity came over it: it may stay.
    virtual void confirm() {}
    virtual bool is_tcp() const { return false; }
    // Much waits for the peer, or the machine, to take it.
    virtual bool congested() const = 0;

    bool send(std::span<const uint8_t> bytes, const stun::Address& to, uint16_t source = 0) {
        uint8_t* room = reserve(bytes.size());
        if (!room) return false;
        std::memcpy(room, bytes.data(), bytes.size());
        commit(bytes.size(), to, 0, source);
        return true;
    }

  protected:
    ~Wire() = default;
};

// Must not yield, nor end the wire that it is called about.
class WireUser {
  public:
    // bytes: valid, and may be written to, during the call. now_us: monotonic, of the batch.
    virtual void on_datagram(std::span<uint8_t> bytes, const stun::Address& from, Wire& wire, int64_t now_us) = 0;
    // It is about to be no more.
    virtual void on_wire_closed(Wire& wire) = 0;

  protected:
    ~WireUser() = default;
};

}  // namespace service::rtc
