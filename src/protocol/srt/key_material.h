#pragma once
// Key material of SRT (draft-sharabayko-srt-01, 3.2.2 and 6.1): the key message (KM) that carries one or two session
// keys (SEK), wrapped (RFC 3394) by a key (KEK) that is derived from the passphrase (PBKDF2, RFC 8018) and the salt.
// Only AES in counter mode; AES-GCM is refused by its code. Ciphers are in cipher.h, the keys of a session in
// session_keys.h. Random bytes are handed in.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/srt/handshake.h"

namespace srt {

inline constexpr size_t kMinPassphrase = 10, kMaxPassphrase = 80;  // bytes
inline constexpr size_t kMaxKey = 32;
inline constexpr size_t kMaxWrapped = 8 + 2 * kMaxKey;
inline constexpr size_t kMaxKeyMessage = 32 + kMaxWrapped;

using Salt = std::array<uint8_t, 16>;

// A key of AES: 16, 24 or 32 bytes; 0: none.
struct AesKey {
    std::array<uint8_t, kMaxKey> bytes{};
    uint8_t size = 0;

    explicit operator bool() const { return size != 0; }
    std::span<const uint8_t> view() const { return std::span(bytes).first(size); }
    friend bool operator==(const AesKey&, const AesKey&) = default;
};
// Of at most kMaxKey bytes.
AesKey make_key(std::span<const uint8_t> bytes);
inline bool is_key_size(size_t size) { return size == 16 || size == 24 || size == 32; }

// The session keys of a message; at least one is there.
struct SessionKeys {
    AesKey even, odd;

    KeyParity parity() const { return static_cast<KeyParity>((even ? 1 : 0) | (odd ? 2 : 0)); }
    AesKey& of(KeyParity parity) { return parity == KeyParity::kOdd ? odd : even; }
    const AesKey& of(KeyParity parity) const { return parity == KeyParity::kOdd ? odd : even; }
    friend bool operator==(const SessionKeys&, const SessionKeys&) = default;
};

// A key message: a view, for as long as its bytes.
struct KeyMessage {
    KeyParity parity = KeyParity::kEven;  // the keys in it
    uint8_t key_size = 16;
    Salt salt{};
    std::span<const uint8_t> wrapped{};
};
// Refuses by kRogue what is malformed or has another length than it should, by kCrypto other ciphers.
std::expected<KeyMessage, Refusal> parse_key_message(std::span<const uint8_t> bytes);

// The KEK. Costs 2 ms of the processor, on purpose: 2,048 rounds. It is the same for all messages with that salt. May
// be called by any thread.
AesKey derive_kek(std::string_view passphrase, const Salt& salt, size_t key_size);

// Nothing: the passphrase was another. kek has the size of the message's keys.
std::optional<SessionKeys> unwrap_keys(const KeyMessage& message, const AesKey& kek);
// The size of the message; 0 if `out` is too small. The keys are of the size of the kek.
size_t write_key_message(std::span<uint8_t> out, const SessionKeys& keys, const Salt& salt, const AesKey& kek);

// What a KMRSP says that does not repeat the message.
enum class KeyFailure : uint8_t { kUnsecured = 0, kNoSecret = 3, kBadSecret = 4, kBadCipher = 5 };
inline constexpr size_t kKeyFailureSize = 4;
// Nothing when it is no such answer. Other codes count as kBadSecret.
std::optional<KeyFailure> parse_key_failure(std::span<const uint8_t> contents);
std::array<uint8_t, kKeyFailureSize> write_key_failure(KeyFailure failure);

}  // namespace srt
