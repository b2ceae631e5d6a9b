#pragma once
// The server's side of ICE as a lite agent (RFC 8445, 2.5 and 7.3). It answers the checks of the peer. From them it
// learns which addresses belong to the peer (the integrity of the check is right) and which one media goes to. So
// remote candidates are not needed, neither in SDP nor trickled. Consent (RFC 7675) is given by the peer's checks,
// which it has to repeat. It sends a check only to an address that the peer does not know of. Bytes and times in, bytes
// out; no socket, no clock.
//
// Selection: the nominated address (USE-CANDIDATE) is selected. Of several nominated at once, as in aggressive
// nomination (RFC 5245), the one of highest priority is; a nomination that arrives kRenominationMs after the last one
// of the selected address wins whatever its priority. A NAT may give the peer another port without the peer's
// knowledge. So a new address, or one from which media arrives, is selected without a nomination when the selected one
// has been silent for kSilentMs. A known address, which may be another pair of the peer, is selected when the selected
// one has been silent for longer than the interval between two checks (kNoCheckMs).
// An address that answers a check of ours is selected at once, if the selected one has been silent since the peer's
// packets came from the other: the answer shows that the peer receives there, which a forged source address does not.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ice/credentials.h"
#include "protocol/stun/message.h"

namespace ice {

inline constexpr int64_t kConsentMs = 30'000;      // RFC 7675, 5.1
inline constexpr int64_t kRenominationMs = 500;    // one round of aggressive checks is over by then
inline constexpr int64_t kSilentMs = 3'000;        // a player's reports come every second
inline constexpr int64_t kNoCheckMs = 6'000;       // the longest interval between two consent checks (RFC 7675, 5.1)
inline constexpr size_t kMaxReplySize = 128;       // the largest answer
inline constexpr size_t kMaxCheckSize = 128;       // the largest request
inline constexpr size_t kMaxErrorsPerSecond = 20;  // answers to refused requests

enum class Refusal : uint8_t {
    kNone,
    kNotStun,            // no STUN message, or a broken one
    kNotRequest,         // an indication (a keepalive), a response, another method
    kNoCredentials,      // 400: no user name or no integrity
    kWrongUsername,      // 401
    kWrongIntegrity,     // 401
    kUnknownAttributes,  // 420
    kRoleConflict,       // 487: the peer claims the controlled role, and a lite agent cannot be controlling
};

struct Reply {
    size_t size = 0;  // bytes of `out` to send to where the request came from; 0: nothing
    Refusal refusal = Refusal::kNone;
    bool new_address = false;       // the first valid request from this address
    bool nominated = false;         // a valid request with USE-CANDIDATE
    bool selected_changed = false;  // selected() has changed
    bool restarted = false;         // the first request with the credentials of restart()

    // The request's integrity was right: datagrams may be sent to its source address.
    bool verified() const { return refusal == Refusal::kNone || refusal >= Refusal::kUnknownAttributes; }
};

class LiteAgent {
  public:
    explicit LiteAgent(Credentials local) : local_(std::move(local)) {}

    // The peer's fragment, with which its user names must end from now on. Without it any fragment is accepted. The
    // peer's password is that of our checks; empty: none is sent.
    void set_remote(std::string_view ufrag, std::string_view password) { remote_.set(ufrag, password); }

    // ICE restart (RFC 8445, 9): the old credentials and the selected address stay in force until a valid request with
    // the new credentials arrives.
    void restart(Credentials local, std::string_view remote_ufrag, std::string_view remote_password);

    // An answer may take kMaxReplySize bytes. The answer to an unverified request is never larger than the request.
    Reply on_request(std::span<const uint8_t> datagram, const base::Endpoint& from, int64_t now_ms,
                     std::span<uint8_t> out);
    // An authenticated packet (SRTP) arrived from a verified address, so that address is alive. True: selected() has
    // changed.
    bool heard(const base::Endpoint& from, int64_t now_ms);

    // A request to the peer. 0: it has no password, or a user name that is too long.
    size_t write_check(const stun::TransactionId& transaction, std::span<uint8_t> out) const;
    // True: it is the peer's answer to that request, so that the address is verified. since_ms: when a packet of the
    // peer first arrived from there.
    bool on_answer(std::span<const uint8_t> datagram, const stun::TransactionId& transaction,
                   const base::Endpoint& from, int64_t since_ms, int64_t now_ms);

    const Credentials& local() const { return local_; }
    std::string_view remote_ufrag() const { return remote_.ufrag(); }
    // Null: no address to send to yet. Valid until the next request or answer.
    const base::Endpoint* selected() const {
        return selected_ < 0 ? nullptr : &pairs_[static_cast<size_t>(selected_)].address;
    }
    // Whether a valid request came from this address and it is among the last kMaxAddresses that sent one.
    bool verified(const base::Endpoint& address) const { return find(address) < pairs_.size(); }
    // Whether an authenticated packet came from this address within kSilentMs.
    bool heard_lately(const base::Endpoint& address, int64_t now_ms) const {
        const size_t index = find(address);
        return index < pairs_.size() && now_ms - pairs_[index].heard_ms <= kSilentMs;
    }
    // The number of addresses evicted for newer ones.
    uint32_t forgotten() const { return forgotten_; }

    static constexpr size_t kMaxAddresses = 8;

  private:
    struct Pair {
        base::Endpoint address;
        uint32_t priority = 0;
        int64_t heard_ms = 0;
        int64_t nominated_ms = -1;
    };
    // The peer's fragment and password, in one string.
    class Remote {
      public:
        void set(std::string_view ufrag, std::string_view password) {
            text_.assign(ufrag).append(password);
            ufrag_size_ = static_cast<uint16_t>(ufrag.size());
        }
        std::string_view ufrag() const { return std::string_view(text_).substr(0, ufrag_size_); }
        std::string_view password() const { return std::string_view(text_).substr(ufrag_size_); }

      private:
        std::string text_;
        uint16_t ufrag_size_ = 0;
    };
    // The credentials of a restart: tried before the current ones, until a request with them is valid.
    struct Next {
        Credentials local;
        Remote remote;
    };

    size_t find(const base::Endpoint& address) const;  // pairs_.size(): not found
    Pair& pair_of(const base::Endpoint& from, int64_t now_ms, Reply& reply);
    Refusal check(const stun::Message& message, bool& next) const;
    // Applies a valid request to the addresses.
    void accept(const stun::Message& message, const base::Endpoint& from, int64_t now_ms, Reply& reply);
    void take_next();
    size_t answer_error(const stun::Message& message, Refusal refusal, int64_t now_ms, std::span<uint8_t> out);

    std::vector<Pair> pairs_;  // at most kMaxAddresses; nearly always one or two
    int8_t selected_ = -1;
    uint8_t errors_ = 0;  // error answers sent in the second that began at errors_since_ms_
    Credentials local_;
    Remote remote_;
    std::unique_ptr<Next> next_;
    uint32_t forgotten_ = 0;
    int64_t errors_since_ms_ = 0;
};

}  // namespace ice
