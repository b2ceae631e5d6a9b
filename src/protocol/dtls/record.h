#pragma once
// Internal. DTLS records and handshake fragments as far as they are not encrypted (RFC 6347, 4.1 and 4.2.2), looked at
// before OpenSSL sees them: what cannot be right is dropped here, because OpenSSL takes some of it for the end of the
// connection, and keeps as much of the rest as it is told to come.

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
    std::span<const uint8_t> all;  // with its header
};

// Takes the first record off a datagram; nothing when what is left is none, and then the rest is of no use either.
std::optional<Record> next_record(std::span<const uint8_t>& datagram);

// Handshake messages of a peer in the clear, as their fragments announce them.
class FragmentFilter {
  public:
    enum class From : uint8_t { kClient, kServer };

    explicit FragmentFilter(From peer) : peer_(peer) {}

    // Whether all fragments of a record in epoch 0 can be true: types that such a peer sends, inside their messages,
    // lengths as told before, and all messages together within kMaxTotal.
    bool admits(std::span<const uint8_t> body);

    static constexpr uint32_t kMaxMessage = 8 * 1024;  // a certificate with an RSA key of 4096 bits is under 2 kB
    static constexpr uint32_t kMaxTotal = 12 * 1024;
    static constexpr uint16_t kMaxMessages = 10;  // in one handshake and direction, by message_seq

  private:
    struct Fragment {
        uint8_t type;
        uint16_t sequence;
        uint32_t length, offset, size;
    };
    bool possible(const Fragment& fragment) const;

    From peer_;
    std::array<uint16_t, kMaxMessages> lengths_{};  // plus one; 0: nothing of it has come
};

// Gives the records in the clear of a datagram of ours the next sequence numbers. A record that is sent again has to
// have another one (RFC 6347, 4.2.4), or a peer that saw the first and could not use it drops it as replayed.
void number_records(std::span<uint8_t> datagram, uint64_t& sequence);

// Whether a record begins with a piece of the ClientHello that opens a handshake, and how much of it.
enum class Hello : uint8_t { kNone, kPiece, kWhole };
Hello client_hello(const Record& record);

}  // namespace dtls
