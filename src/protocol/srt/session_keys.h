#pragma once
// The keys of one session after the handshake, and their refresh (draft-sharabayko-srt-01, 6.1.6): packets say by a
// parity which of two keys they have. The sender makes a new key of the other parity some packets before it is used,
// sends it in a key message (EXT/KMREQ) with the present one until the answer (EXT/KMRSP) comes, and switches. All
// keys of a session have one salt and one KEK, so that no key message of an existing session costs a derivation.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "protocol/srt/cipher.h"
#include "protocol/srt/decryptor.h"
#include "protocol/srt/key_material.h"
#include "protocol/srt/sequence.h"

namespace srt {

inline constexpr uint16_t kKeyRequest = 3, kKeyResponse = 4;  // subtypes of ControlType::kExtension

// What all keys of a session have in common.
struct KeyBasis {
    Salt salt{};
    AesKey kek;
};

// Fills the bytes with random data that nobody can guess.
using RandomFill = void (*)(std::span<uint8_t>);

class ReceiverKeys final : public PayloadDecryptor {
  public:
    ReceiverKeys(const SessionKeys& keys, const KeyBasis& basis);

    // Decrypts a payload in place. False, and nothing is changed: no key of that parity, or no key at all, because
    // clear data in an encrypted session are not from the peer.
    bool decrypt(const DataHeader& header, std::span<uint8_t> payload) override;

    struct Answer {
        bool accepted = false;
        size_t size = 0;
        std::array<uint8_t, kMaxKeyMessage> bytes{};
        std::span<const uint8_t> contents() const { return std::span(bytes).first(size); }
    };
    // The contents of a EXT/KMREQ; the answer belongs into a EXT/KMRSP. What cannot be unwrapped, or has another salt
    // or size than the session's keys, changes nothing.
    Answer on_key_request(std::span<const uint8_t> contents);

  private:
    void set(KeyParity parity, const AesKey& key);
    static Answer refuse(KeyFailure failure);

    KeyBasis basis_;
    SessionKeys keys_;
    std::optional<Cipher> even_, odd_;
};

struct RefreshSettings {
    uint64_t refresh_packets = 1u << 24;  // sent with one key
    uint64_t preannounce_packets = 4096;  // before the switch; less than half of refresh_packets
    RandomFill random = nullptr;          // must be set
};

class SenderKeys {
  public:
    // The even key is the first in use if both are there.
    SenderKeys(const SessionKeys& keys, const KeyBasis& basis, const RefreshSettings& settings);

    // The key for a new packet with this sequence number, which it counts. Sequence numbers ascend.
    KeyParity next_parity(uint32_t sequence);
    // The key with which a packet was sent; kNone: it has been replaced, and the packet cannot be sent again.
    KeyParity parity_of(uint32_t sequence) const;
    // With the key of next_parity() or parity_of(). out: as of Cipher::crypt().
    void encrypt(KeyParity parity, uint32_t sequence, std::span<const uint8_t> in, uint8_t* out);

    // A EXT/KMREQ that is due: its size, or 0. It is repeated each 1.5 RTT (at least 20 ms), ten times at most. A peer
    // that does not answer keeps its key, and is asked again after as many packets as were announced ahead.
    size_t poll(int64_t now_us, int64_t rtt_us, Target target, std::span<uint8_t> out);
    // When poll() should be called, kNever while nothing is announced.
    int64_t deadline_us() const { return state_ == State::kAnnouncing ? next_try_us_ : kNever; }
    // The contents of a EXT/KMRSP. False if it does not answer the present request.
    bool on_key_response(std::span<const uint8_t> contents);

    uint64_t refreshes() const { return refreshes_; }
    // For those that encrypt elsewhere: the keys that next_parity() and parity_of() name. They are others after
    // announcements() has changed.
    const SessionKeys& keys() const { return keys_; }
    const Salt& salt() const { return basis_.salt; }
    uint64_t announcements() const { return announcements_; }

  private:
    enum class State : uint8_t { kSteady, kAnnouncing, kAnnounced };
    static constexpr int kMaxTries = 10;

    static KeyParity other(KeyParity parity) { return parity == KeyParity::kOdd ? KeyParity::kEven : KeyParity::kOdd; }
    std::optional<Cipher>& cipher(KeyParity parity) { return parity == KeyParity::kOdd ? odd_ : even_; }
    void announce();
    void switch_key(uint32_t sequence);

    KeyBasis basis_;
    RefreshSettings settings_;
    SessionKeys keys_;
    std::optional<Cipher> even_, odd_;
    KeyParity current_ = KeyParity::kEven;
    State state_ = State::kSteady;
    bool switched_ = false;  // packets before first_sequence_ had the other key
    bool has_old_ = false;   // which is still there
    uint32_t first_sequence_ = 0;
    uint64_t sent_ = 0;  // packets with the present key
    uint64_t announce_at_ = 0;
    uint64_t refreshes_ = 0, announcements_ = 0;
    int tries_ = 0;
    int64_t next_try_us_ = 0;
    std::array<uint8_t, kMaxKeyMessage> request_{};
    size_t request_size_ = 0;
};

// A EXT/KMREQ or EXT/KMRSP with these contents; 0 if `out` is too small.
size_t write_key_packet(std::span<uint8_t> out, Target target, uint16_t subtype, std::span<const uint8_t> contents);

}  // namespace srt
