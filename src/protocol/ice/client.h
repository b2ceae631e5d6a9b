#pragma once
// A full ICE agent with one socket, for the bench and the tests (RFC 8445; RFC 7675 for consent): it checks the remote
// candidates it is told, at once or trickled, nominates one regularly or aggressively, keeps consent, answers checks of
// the peer, restarts. It gathers nothing and has one candidate of its own. Bytes and times in, bytes out.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/ice/credentials.h"
#include "protocol/stun/message.h"

namespace ice {

struct ClientOptions {
    Credentials local, remote;
    bool aggressive =
        false;  // USE-CANDIDATE in every check (RFC 5245), instead of in one more that follows a right one
    bool controlling = true;
    uint64_t seed = 1;  // of transactions, the tie-breaker and the spread of consent checks
    uint32_t priority = 0x6e0001ff;
};

struct Outgoing {
    stun::Address to;
    std::span<const uint8_t> bytes;  // valid until the next call
};

class Client {
  public:
    explicit Client(ClientOptions options);

    // A remote candidate; one known already is passed over, and those beyond kMaxPairs are.
    void add_remote(const stun::Address& address);
    void restart(Credentials local, Credentials remote);

    // What has to be sent now; ask until it says nothing.
    std::optional<Outgoing> poll(int64_t now_ms);
    // When to poll next, in the clock of now_ms; after every poll and datagram it may be another. INT64_MAX: never.
    int64_t next_ms() const;
    // A STUN datagram. False: not one for us.
    bool on_datagram(std::span<const uint8_t> datagram, const stun::Address& from, int64_t now_ms);

    // Nominated, and the nomination was answered.
    const stun::Address* selected() const {
        return selected_ < 0 ? nullptr : &pairs_[static_cast<size_t>(selected_)].address;
    }
    // Where our datagrams seem to come from, as the peer told last.
    const std::optional<stun::Address>& mapped() const { return mapped_; }
    // Answered consent checks are younger than 30 s.
    bool consent(int64_t now_ms) const { return consent_ms_ >= 0 && now_ms - consent_ms_ <= 30'000; }
    uint16_t last_error() const { return last_error_; }
    bool failed() const;  // no pair is left to try, and none works

    static constexpr size_t kMaxPairs = 32;
    static constexpr int kMaxSends = 7;  // Rc
    static constexpr int64_t kFirstRtoMs = 250;
    static constexpr int64_t kConsentCheckMs = 5000;

  private:
    struct Pair {
        stun::Address address;
        stun::TransactionId transaction{};
        int64_t send_ms = 0;  // the next transmission
        int64_t rto_ms = kFirstRtoMs;
        int sends = 0;
        bool valid = false;
        bool nominating = false;  // the transaction under way carries USE-CANDIDATE
        bool done = false;        // nothing under way
    };

    void begin(Pair& pair, int64_t when_ms);
    std::span<const uint8_t> write_check(const Pair& pair);
    bool on_response(const stun::Message& message, const stun::Address& from, int64_t now_ms);
    void on_valid(Pair& pair, int64_t now_ms);
    uint64_t random();

    ClientOptions options_;
    uint64_t state_;
    uint64_t tie_breaker_;
    std::vector<Pair> pairs_;
    int selected_ = -1;
    int nominated_ = -1;  // the one we chose
    int64_t consent_ms_ = -1;
    uint16_t last_error_ = 0;
    std::optional<stun::Address> mapped_;
    std::optional<stun::Address> answer_to_;
    size_t answer_size_ = 0;
    std::array<uint8_t, 128> answer_;
    std::array<uint8_t, 640> check_;
};

}  // namespace ice
