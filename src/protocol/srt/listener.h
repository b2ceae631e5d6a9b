#pragma once
// The listener's side of the handshake (draft-sharabayko-srt-01, 4.3.1), in steps, so that nothing is kept of a caller
// before its address is known and the server has decided:
//
//   parse_handshake()       a datagram for socket id 0
//   Listener::on_handshake() answers an INDUCTION by a cookie, checks the cookie of a CONCLUSION; no state, no memory
//   (the caller looks for a session of this address and caller id, and repeats its answer)
//   parse_caller_request()  what the caller wants, or why it is refused
//   (hooks, passphrase, limits: may take seconds, in which the caller repeats its CONCLUSION)
//   make_answer() or make_refusal()
//
// Handshakes of version 4, buffer mode, packet filters, other congestion control and AES-GCM are refused; a group is
// declined by not being mentioned in the answer; rendezvous is ignored. Passphrases are checked by the caller of these
// functions (key_material.h). IPv4's headers are assumed in MTUs, as libsrt does.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "protocol/srt/agreement.h"
#include "protocol/srt/cookie.h"
#include "protocol/srt/handshake.h"
#include "protocol/srt/key_material.h"

namespace srt {

// A handshake without extensions.
using BareHandshake = std::array<uint8_t, kBareHandshake>;

class Listener {
  public:
    enum class Step : uint8_t {
        kIgnore,      // not from a caller, or its cookie is none of ours
        kAnswer,      // an INDUCTION: send the answer, which is not longer than the request
        kConclusion,  // with a cookie of ours, so the address is the caller's
    };
    // key_size: advertised to callers that leave it to us; 0: none.
    Listener(const CookieSecret& secret, uint8_t key_size) : secret_(secret), key_size_(key_size) {}

    Step on_handshake(int64_t now_us, const base::Endpoint& from, const HandshakePacket& packet,
                      BareHandshake& answer) const;

  private:
    CookieSecret secret_;
    uint8_t key_size_;
};

// A valid CONCLUSION.
struct CallerRequest {
    Handshake handshake;                 // its socket_id is the caller's
    uint32_t timestamp_us = 0;           // of the datagram
    Capabilities capabilities{};         // library version, flags, delays
    std::string stream_id{};             // at most kMaxStreamId bytes, of any value
    std::vector<uint8_t> key_message{};  // one that parse_key_message() accepts; empty: the caller has no passphrase
    bool wants_group = false;
};

struct Refused {
    Refusal code;
    std::string_view reason;  // a literal
};

// packet: a CONCLUSION whose cookie was checked.
std::expected<CallerRequest, Refused> parse_caller_request(const HandshakePacket& packet);

// What the server decided.
struct ListenerTerms {
    uint32_t own_id = 0;  // random, not 0, bit 30 clear
    uint32_t mtu = 1500;
    uint32_t window = 8192;  // packets of our receive buffer
    uint16_t receive_latency_ms = 120;
    uint16_t peer_latency_ms = 120;  // least delay of what we send
    bool delivers_by_time = true;    // TSBPD
    bool drops_too_late = true;
};

// now_us: when the CONCLUSION arrived; our clock of the connection begins then, as gosrt needs it.
Agreement agree(const CallerRequest& request, const ListenerTerms& terms, int64_t now_us);

// The answer to a CONCLUSION and to each repetition of it: the same terms give the same bytes. Of an encrypted
// connection it has the caller's key message.
std::vector<uint8_t> make_answer(const CallerRequest& request, const ListenerTerms& terms);

// handshake: the caller's. Callers of version 4 do not understand it, and end by a write_shutdown() after it.
BareHandshake make_refusal(const Handshake& handshake, Refusal code);

}  // namespace srt
