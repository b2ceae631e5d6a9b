#pragma once
// Internal. DTLS records and plaintext handshake fragments (RFC 6347, 4.1 and 4.2.2), checked before OpenSSL sees them.
// Impossible ones are dropped here: OpenSSL takes some of them for the end of the connection, and for others it
// allocates as much memory as their headers announce.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace dtls {

enum class Content : uint8_t { kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22, kApplicationData = 23 };

inline constexpr size_t kRecordHeader = 13;
inline constexpr size_t kFragmentHeader = 12;

struct Record {
    Content type;
    uint16_t version;
    uint16_t epoch;
    uint64_t sequence;
    std::span<const uint8_t> body;
    std::span<const uint8_t> all;  // with the record's header
};

// Takes the first record off a datagram. Nothing when the rest is not a valid record; then the rest cannot be used.
std::optional<Record> next_record(std::span<const uint8_t>& datagram);

// The plaintext handshake messages of a peer, as their fragments announce them.
class FragmentFilter {
  public:
    enum class From : uint8_t { kClient, kServer };

    explicit FragmentFilter(From peer) : peer_(peer) {}

    // Whether all fragments of a record in epoch 0 are plausible: message types that this peer sends, offsets inside
    // the message, the same length as announced before, and all messages together within kMaxTotal.
    bool admits(std::span<const uint8_t> body);

    static constexpr uint32_t kMaxMessage = 8 * 1024;  // a certificate with an RSA key of 4096 bits is under 2 kB
    static constexpr uint32_t kMaxTotal = 12 * 1024;
    static constexpr uint16_t kMaxMessages = 10;  // per handshake and direction, by message_seq

  private:
    struct Fragment {
        uint8_t type;
        uint16_t sequence;
        uint32_t length, offset, size;
    };
    bool possible(const Fragment& fragment) const;

    From peer_;
    std::array<uint16_t, kMaxMessages> lengths_{};  // plus one; 0: no fragment received
};

// Gives the plaintext records of a datagram to send the next sequence numbers. A retransmitted record needs a new one
// (RFC 6347, 4.2.4): a peer that received the first but could not use it drops a repeated number as a replay.
void number_records(std::span<uint8_t> datagram, uint64_t& sequence);

// Whether a record begins with a fragment of the ClientHello that opens a handshake: a part of it or the whole.
enum class Hello : uint8_t { kNone, kPiece, kWhole };
Hello client_hello(const Record& record);

}  // namespace dtls
