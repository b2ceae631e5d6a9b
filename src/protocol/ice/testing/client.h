#pragma once
// A full ICE agent with one socket, for the bench and the tests (RFC 8445; RFC 7675 for consent). It checks the remote
// candidates that it is given, at once or trickled, nominates one by regular or aggressive nomination, keeps consent,
// answers checks of the peer, and restarts. It gathers no candidates and has one local candidate. Bytes and times in,
// bytes out.

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
        false;  // USE-CANDIDATE in every check (RFC 5245), instead of one more check after a successful one
    bool controlling = true;
    uint64_t seed = 1;  // of transaction ids, the tie-breaker and the jitter of consent checks
    uint32_t priority = 0x6e0001ff;
};

struct Outgoing {
    base::Endpoint to;
    std::span<const uint8_t> bytes;  // valid until the next call
};

class Client {
  public:
    explicit Client(ClientOptions options);

    // Adds a remote candidate. Known ones, and those beyond kMaxPairs, are ignored.
    void add_remote(const base::Endpoint& address);
    void restart(Credentials local, Credentials remote);

    // The next datagram to send now; call it until it returns nothing.
    std::optional<Outgoing> poll(int64_t now_ms);
    // When to poll next, in the clock of now_ms; it may change after every poll and datagram. INT64_MAX: never.
    int64_t next_ms() const;
    // Processes a datagram. False: it is not STUN, or not for this agent.
    bool on_datagram(std::span<const uint8_t> datagram, const base::Endpoint& from, int64_t now_ms);

    // The nominated pair's address, once the nomination was answered.
    const base::Endpoint* selected() const {
        return selected_ < 0 ? nullptr : &pairs_[static_cast<size_t>(selected_)].address;
    }
    // The source address of our datagrams as the peer last reported it.
    const std::optional<base::Endpoint>& mapped() const { return mapped_; }
    // The last answered check is at most 30 s old.
    bool consent(int64_t now_ms) const { return consent_ms_ >= 0 && now_ms - consent_ms_ <= 30'000; }
    uint16_t last_error() const { return last_error_; }
    bool failed() const;  // no pair is left to try, and none works

    static constexpr size_t kMaxPairs = 32;
    static constexpr int kMaxSends = 7;  // Rc
    static constexpr int64_t kFirstRtoMs = 250;
    static constexpr int64_t kConsentCheckMs = 5000;

  private:
    struct Pair {
        base::Endpoint address;
        stun::TransactionId transaction{};
        int64_t send_ms = 0;  // the next transmission
        int64_t rto_ms = kFirstRtoMs;
        int sends = 0;
        bool valid = false;
        bool nominating = false;  // the transaction in progress carries USE-CANDIDATE
        bool done = false;        // no transaction in progress
    };

    void begin(Pair& pair, int64_t when_ms);
    std::span<const uint8_t> write_check(const Pair& pair);
    bool on_response(const stun::Message& message, const base::Endpoint& from, int64_t now_ms);
    void on_valid(Pair& pair, int64_t now_ms);
    uint64_t random();

    ClientOptions options_;
    uint64_t state_;
    uint64_t tie_breaker_;
    std::vector<Pair> pairs_;
    int selected_ = -1;
    int nominated_ = -1;  // the pair we chose
    int64_t consent_ms_ = -1;
    uint16_t last_error_ = 0;
    std::optional<base::Endpoint> mapped_;
    std::optional<base::Endpoint> answer_to_;
    size_t answer_size_ = 0;
    std::array<uint8_t, 128> answer_;
    std::array<uint8_t, 640> check_;
};

}  // namespace ice
