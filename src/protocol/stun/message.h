#pragma once
// STUN messages (RFC 8489, with the attributes of ICE, RFC 8445): views into a datagram. parse() checks the header, the
// bounds of all attributes, and the fingerprint if present; the integrity is checked separately, because it needs a
// key. Writing is in writer.h. Not supported, because ICE does not use them: long-term credentials, TURN, alternate
// servers and SHA-256 integrity. Datagrams only (framing on TCP, RFC 4571, belongs to the transport).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace stun {

inline constexpr uint32_t kMagicCookie = 0x2112a442;
inline constexpr size_t kHeaderSize = 20;
inline constexpr size_t kIntegritySize = 24;   // MESSAGE-INTEGRITY including its header
inline constexpr size_t kFingerprintSize = 8;  // FINGERPRINT including its header
inline constexpr size_t kMaxUsername = 513;    // RFC 8489, 14.3
inline constexpr size_t kMaxUnknown = 8;       // the most that our 420 answer lists

enum class Class : uint8_t { kRequest, kIndication, kSuccess, kError };
inline constexpr uint16_t kBinding = 0x001;

enum class Attribute : uint16_t {
    kUsername = 0x0006,
    kMessageIntegrity = 0x0008,
    kErrorCode = 0x0009,
    kUnknownAttributes = 0x000a,
    kXorMappedAddress = 0x0020,
    kPriority = 0x0024,
    kUseCandidate = 0x0025,
    kSoftware = 0x8022,
    kFingerprint = 0x8028,
    kIceControlled = 0x8029,
    kIceControlling = 0x802a,
};

using TransactionId = std::array<uint8_t, 12>;

struct Message {
    std::span<const uint8_t> datagram;  // all views point into it
    Class kind = Class::kRequest;
    uint16_t method = kBinding;
    TransactionId transaction{};

    std::string_view username;  // empty: none
    // The parts of USERNAME before and after its first colon: in a request the receiver's and the sender's fragment.
    std::string_view receiver_ufrag() const;
    std::string_view sender_ufrag() const;

    std::optional<uint32_t> priority;
    std::optional<uint64_t> controlling;  // tie-breakers
    std::optional<uint64_t> controlled;
    bool use_candidate = false;
    std::optional<base::Endpoint> mapped;  // XOR-MAPPED-ADDRESS
    uint16_t error_code = 0;               // of an error response; 0: none
    bool has_fingerprint = false;          // a wrong one is an error of parse()
    // Unknown comprehension-required attributes (RFC 8489, 6.3.1); those above kMaxUnknown are only counted.
    std::array<uint16_t, kMaxUnknown> unknown{};
    size_t unknown_count = 0;

    bool has_integrity() const { return integrity_offset != 0; }
    // Whether MESSAGE-INTEGRITY is present and matches the key. With short-term credentials the key is the peer's
    // password. The comparison takes constant time.
    bool check_integrity(std::string_view key) const;

    size_t integrity_offset = 0;  // of the attribute's header in the datagram; 0: none
};

// Checks only the first bytes: two zero bits, the cookie, a plausible length. Cheap; used by the demultiplexer.
bool looks_like_stun(std::span<const uint8_t> datagram);

// kProtocol: too short, no cookie, a length other than the datagram's, an attribute that exceeds it or has the wrong
// size, a wrong fingerprint. Attributes after MESSAGE-INTEGRITY are ignored (RFC 8489, 14.5), except FINGERPRINT. The
// datagram must outlive the message.
base::Result<Message> parse(std::span<const uint8_t> datagram);

// HMAC-SHA1, and the CRC that FINGERPRINT carries (RFC 8489, 14.7).
std::array<uint8_t, 20> hmac_sha1(std::string_view key, std::span<const uint8_t> first,
                                  std::span<const uint8_t> second = {});
uint32_t fingerprint_of(std::span<const uint8_t> bytes);

}  // namespace stun
