#pragma once
// The server's side of ICE as a lite agent (RFC 8445, 2.5 and 7.3): it sends no checks, answers those of the peer, and
// learns from them which of the peer's addresses are its own (their integrity is right) and which one media goes to. So
// remote candidates, told at once or trickled, are not needed. Consent (RFC 7675) is the peer's checks, which it has to
// repeat. Bytes and times in, bytes out; no socket, no clock.
//
// Which address is selected: the one nominated (USE-CANDIDATE). Of several nominated at once, as aggressive nomination
// does (RFC 5245), the one of highest priority; a nomination that comes kRenominationMs after the last of the selected
// one wins whatever its priority. A NAT may give the peer another port without its knowing: an address that was not
// there before, or from which media comes, is selected without a nomination when the selected one has been silent for
// kSilentMs; one that was there before, as other pairs are, when it has been for longer than a peer waits between
// checks.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "protocol/ice/credentials.h"
#include "protocol/stun/message.h"

namespace ice {

inline constexpr int64_t kConsentMs = 30'000;      // RFC 7675, 5.1
inline constexpr int64_t kRenominationMs = 500;    // one round of aggressive checks is over by then
inline constexpr int64_t kSilentMs = 3'000;        // a player's reports come every second
inline constexpr int64_t kNoCheckMs = 6'000;       // the longest between two consent checks (RFC 7675, 5.1)
inline constexpr size_t kMaxReplySize = 128;       // the largest answer
inline constexpr size_t kMaxErrorsPerSecond = 20;  // answers to requests that were refused

enum class Refusal : uint8_t {
    kNone,
    kNotStun,            // no STUN message, or a broken one
    kNotRequest,         // an indication (a keepalive), a response, another method
    kNoCredentials,      // 400: no user name or no integrity
    kWrongUsername,      // 401
    kWrongIntegrity,     // 401
    kUnknownAttributes,  // 420
    kRoleConflict,       // 487: the peer says that it is the controlled one, and a lite agent cannot lead
};

struct Reply {
    size_t size = 0;  // bytes of `out` to send to where the request came from; 0: nothing
    Refusal refusal = Refusal::kNone;
    bool new_address = false;       // the first right request from there
    bool nominated = false;         // a right one that says: use this pair
    bool selected_changed = false;  // selected() is another one now
    bool restarted = false;         // the first request with the credentials of restart()

    // The request's integrity was right: datagrams may be sent to its address.
    bool verified() const { return refusal == Refusal::kNone || refusal >= Refusal::kUnknownAttributes; }
};

class LiteAgent {
  public:
    explicit LiteAgent(Credentials local) : local_(std::move(local)) {}

    // The peer's fragment, with which its user names must end from now on. Without it any will do. Its password is not
    // needed: a lite agent asks nothing.
    void set_remote(std::string_view ufrag) { remote_ufrag_ = ufrag; }

    // ICE restart (RFC 8445, 9): the old credentials and the old selected address hold until a right request comes with
    // the new ones.
    void restart(Credentials local, std::string_view remote_ufrag);

    // An answer may be as large as kMaxReplySize. One to a request that was not verified is never larger than that.
    Reply on_request(std::span<const uint8_t> datagram, const stun::Address& from, int64_t now_ms,
                     std::span<uint8_t> out);
    // Something authenticated (SRTP) came from a verified address: it is alive. True: selected() is another one now.
    bool heard(const stun::Address& from, int64_t now_ms);

    const Credentials& local() const { return local_; }
    const std::string& remote_ufrag() const { return remote_ufrag_; }
    // Null: nothing to send to yet.
    const stun::Address* selected() const {
        return selected_ < 0 ? nullptr : &pairs_[static_cast<size_t>(selected_)].address;
    }
    // A right request came from there and it is among the last kMaxAddresses to do so.
    bool verified(const stun::Address& address) const { return find(address) < count_; }
    // Something of right integrity came from there within kSilentMs.
    bool heard_lately(const stun::Address& address, int64_t now_ms) const {
        const size_t index = find(address);
        return index < count_ && now_ms - pairs_[index].heard_ms <= kSilentMs;
    }
    // The time of the last right request; -1: none.
    int64_t last_heard_ms() const { return last_heard_ms_; }
    // The peer consented and let it lapse: nothing may be sent any more (RFC 7675, 5.1).
    bool consent_lost(int64_t now_ms) const { return last_heard_ms_ >= 0 && now_ms - last_heard_ms_ > kConsentMs; }
    // Addresses that made room for newer ones.
    uint32_t forgotten() const { return forgotten_; }

    static constexpr size_t kMaxAddresses = 8;

  private:
    struct Pair {
        stun::Address address;
        uint32_t priority = 0;
        int64_t heard_ms = 0;
        int64_t nominated_ms = -1;
    };
    // Tried before the ones in force, until they work.
    struct Next {
        Credentials local;
        std::string remote_ufrag;
    };

    size_t find(const stun::Address& address) const;  // count_: not there
    Pair& pair_of(const stun::Address& from, int64_t now_ms, Reply& reply);
    Refusal check(const stun::Message& message, bool& next) const;
    // A right request: what it means for the addresses.
    void accept(const stun::Message& message, const stun::Address& from, int64_t now_ms, Reply& reply);
    void take_next();
    size_t answer_error(const stun::Message& message, Refusal refusal, int64_t now_ms, std::span<uint8_t> out);

    Credentials local_;
    std::string remote_ufrag_;
    std::unique_ptr<Next> next_;
    std::array<Pair, kMaxAddresses> pairs_;
    uint8_t count_ = 0;
    int8_t selected_ = -1;
    uint8_t errors_ = 0;  // answered in the second of errors_since_ms_
    uint32_t forgotten_ = 0;
    int64_t errors_since_ms_ = 0;
    int64_t last_heard_ms_ = -1;
};

}  // namespace ice
