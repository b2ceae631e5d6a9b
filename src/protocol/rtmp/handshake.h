#pragma once
// The RTMP handshake (Adobe RTMP 1.0, 5.2) as state machines over bytes: the simple one, and the one with HMAC-SHA256
// digests that Flash Player 9 introduced (not in the specification; it has two schemes, which differ in the position of
// the digest). The server answers each client in the client's variant. Encrypted RTMP (version 6) is not supported. C2
// and S2 are not compared with the sent bytes: too many peers get them wrong.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace rtmp {

inline constexpr size_t kHandshakeSize = 1536;  // of C1, S1, C2 and S2
inline constexpr uint8_t kVersion = 3;

// Fills the bytes with random data. Supplied by the caller: protocol code has no random source.
using RandomFill = void (*)(std::span<uint8_t>);

class ServerHandshake {
  public:
    explicit ServerHandshake(RandomFill random) : random_(random) {}

    // Consumes bytes from the front of `in` and appends the bytes to send to `out`. Returns how many were consumed: all
    // of them until done(), then only those that belong to the handshake.
    base::Result<size_t> feed(std::span<const uint8_t> in, uint32_t now_ms, std::vector<uint8_t>& out);
    bool done() const { return state_ == State::kDone; }
    bool digest() const { return scheme_.has_value(); }
    // For the log of a handshake that does not complete: "waiting for C1, 17 of 1536 bytes".
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
    // with_digest: requests the digest handshake; a server that answers with the simple one is accepted too.
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

// Finds the digest in a C1 or S1, for tests and both sides. Returns the scheme (0 or 1) whose digest is valid.
enum class Side : uint8_t { kClient, kServer };
std::optional<int> find_digest(std::span<const uint8_t> packet, Side side);

}  // namespace rtmp
