#pragma once
// The RTMP handshake (Adobe RTMP 1.0, 5.2) as state machines over bytes: the simple one, and the one with HMAC-SHA256
// digests that Flash Player 9 brought (not in the specification; known by its two schemes, which differ in where the
// digest lies). The server answers each client in its own way. Encrypted RTMP (version 6) is not spoken. C2 and S2 are
// not compared with what was sent: too many peers get them wrong.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace rtmp {

inline constexpr size_t kHandshakeSize = 1536;  // of C1, S1, C2 and S2
inline constexpr uint8_t kVersion = 3;

// Fills the bytes at random. Handed in; the pure tower has no random source.
using RandomFill = void (*)(std::span<uint8_t>);

class ServerHandshake {
  public:
    explicit ServerHandshake(RandomFill random) : random_(random) {}

    // Takes bytes from the front of `in` and appends what to send to `out`. Returns how many it took: all of them until
    // done(), then only those that belong to the handshake.
    base::Result<size_t> feed(std::span<const uint8_t> in, uint32_t now_ms, std::vector<uint8_t>& out);
    bool done() const { return state_ == State::kDone; }
    bool digest() const { return scheme_.has_value(); }
    // For the log, where it never gets done: "waiting for C1, 17 of 1536 bytes".
    std::string progress() const;

  private:
    enum class State : uint8_t { kC0, kC1, kC2, kDone };
    void answer(uint32_t now_ms, std::vector<uint8_t>& out);

    RandomFill random_;
    State state_ = State::kC0;
    uint16_t c2_seen_ = 0;
    std::optional<int> scheme_;
    std::vector<uint8_t> c1_;
};

class ClientHandshake {
  public:
    // with_digest: asks for the digest handshake; a server that answers simply is accepted too.
    ClientHandshake(RandomFill random, bool with_digest) : random_(random), with_digest_(with_digest) {}

    void start(uint32_t now_ms, std::vector<uint8_t>& out);
    // As ServerHandshake::feed.
    base::Result<size_t> feed(std::span<const uint8_t> in, uint32_t now_ms, std::vector<uint8_t>& out);
    bool done() const { return done_; }

  private:
    RandomFill random_;
    bool with_digest_;
    bool done_ = false;
    std::vector<uint8_t> received_;
};

// The digest in a C1 or S1, for tests and both sides: the scheme (0 or 1) under which it is right.
enum class Side : uint8_t { kClient, kServer };
std::optional<int> find_digest(std::span<const uint8_t> packet, Side side);

}  // namespace rtmp
