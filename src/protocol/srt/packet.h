#pragma once
// SRT packets (draft-sharabayko-srt-01, 3): headers of data and control packets, the contents (CIF) of ACK, NAK and
// DROPREQ, and writers into memory of the caller. Every length is checked, nothing is allocated, nothing is remembered.
// Not here: handshakes (handshake.h), key messages (key_material.h), what numbers mean for a session (receiver.h,
// sender.h). All fields are big endian.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace srt {

inline constexpr size_t kHeaderSize = 16;
inline constexpr uint32_t kMaxSequence = 0x7fffffff;          // 31 bits
inline constexpr uint32_t kMaxMessage = 0x3ffffff;            // 26 bits; numbers begin at 1
inline constexpr uint32_t kIpUdpHeaders = 28;                 // of IPv4; libsrt counts the same for IPv6
inline constexpr size_t kMaxDatagram = 1500 - kIpUdpHeaders;  // of the usual MTU
inline constexpr size_t kMaxPayload = kMaxDatagram - kHeaderSize;
inline constexpr size_t kLivePayload = 7 * 188;  // callers break off when they are sent more than they expect

// Position of a packet in its message. Live mode has single ones only.
enum class Boundary : uint8_t { kMiddle = 0, kLast = 1, kFirst = 2, kSingle = 3 };
// The key by which a payload is encrypted, or the keys in a key message. No data packet has both.
enum class KeyParity : uint8_t { kNone = 0, kEven = 1, kOdd = 2, kBoth = 3 };

struct DataHeader {
    uint32_t sequence = 0;
    Boundary boundary = Boundary::kSingle;
    bool in_order = false;  // libsrt sets it, others do not: has no meaning in live mode
    KeyParity key = KeyParity::kNone;
    bool retransmitted = false;
    uint32_t message = 0;       // some senders have 1 in every packet: not fit for ordering
    uint32_t timestamp_us = 0;  // in the sender's clock, wraps
    uint32_t destination = 0;   // socket id of the receiver
    friend bool operator==(const DataHeader&, const DataHeader&) = default;
};

enum class ControlType : uint16_t {
    kHandshake = 0,
    kKeepalive = 1,
    kAck = 2,
    kNak = 3,
    kCongestionWarning = 4,
    kShutdown = 5,
    kAckAck = 6,
    kDropRequest = 7,
    kPeerError = 8,
    kExtension = 0x7fff,  // the subtype says which: key_material.h
};

struct ControlHeader {
    ControlType type = ControlType::kKeepalive;  // may have a value without a name
    uint16_t subtype = 0;
    uint32_t info = 0;  // of ACK and ACKACK the ACK number, of DROPREQ the message number
    uint32_t timestamp_us = 0;
    uint32_t destination = 0;
    friend bool operator==(const ControlHeader&, const ControlHeader&) = default;
};

// Sequence numbers from first to last, both included; first is not after last (by arithmetic of 31 bits).
struct SequenceRange {
    uint32_t first = 0;
    uint32_t last = 0;
    friend bool operator==(const SequenceRange&, const SequenceRange&) = default;
};

// The next three cost no parsing, for finding the session of a datagram.
inline bool is_packet(std::span<const uint8_t> datagram) { return datagram.size() >= kHeaderSize; }
// Of a packet.
inline bool is_control(std::span<const uint8_t> packet) { return (packet[0] & 0x80) != 0; }
uint32_t destination_of(std::span<const uint8_t> packet);
// What follows the header of a packet: payload or CIF.
inline std::span<const uint8_t> body_of(std::span<const uint8_t> packet) { return packet.subspan(kHeaderSize); }

// Nothing for a control packet, for less than a header, and for a payload that has both keys.
std::optional<DataHeader> parse_data(std::span<const uint8_t> datagram);
void write_data_header(std::span<uint8_t, kHeaderSize> out, const DataHeader& header);

// Nothing for a data packet and for less than a header. Contents of any length are accepted: libsrt pads those of
// KEEPALIVE, SHUTDOWN, ACKACK and others with four bytes.
std::optional<ControlHeader> parse_control(std::span<const uint8_t> datagram);
void write_control_header(std::span<uint8_t, kHeaderSize> out, const ControlHeader& header);

struct Ack {
    // kLight: only `last`; kSmall: until buffer_packets; kFull: everything.
    enum class Kind : uint8_t { kLight, kSmall, kFull };
    Kind kind = Kind::kFull;
    uint32_t number = 0;  // not 0: wants an ACKACK with this number
    uint32_t last = 0;    // everything before this sequence number has been received
    uint32_t rtt_us = 0;  // this and the next: as the peer says, not checked
    uint32_t rtt_var_us = 0;
    uint32_t buffer_packets = 0;    // free in the receiver's buffer
    uint32_t rate_packets = 0;      // received, a second
    uint32_t capacity_packets = 0;  // of the link, estimated, a second
    uint32_t rate_bytes = 0;        // received, a second; 0 where the peer does not send it
    friend bool operator==(const Ack&, const Ack&) = default;
};

// By the length of the contents: 4, 16, 24 and 28 bytes are in use. Nothing below 4, or if `last` has 32 bits.
std::optional<Ack> parse_ack(const ControlHeader& header, std::span<const uint8_t> contents);

// The list of a NAK, a view: at most one range for each word, so 364 in a datagram of 1,456. Ranges that end before
// they begin (0 to 2^31-1, too: that is one number backwards), half ranges at the end, ends that begin a range and
// bytes of an incomplete word are skipped and counted.
class LossList {
  public:
    explicit LossList(std::span<const uint8_t> contents) : rest_(contents) {}
    // Nothing at the end. Ranges come in the order of the packet, and may overlap.
    std::optional<SequenceRange> next();
    size_t malformed() const { return malformed_; }  // so far

  private:
    std::span<const uint8_t> rest_;
    size_t malformed_ = 0;
};

// "Do not wait for these": the sender does not have them any more.
struct DropRequest {
    uint32_t message = 0;  // 0: only the range counts
    SequenceRange range;
    friend bool operator==(const DropRequest&, const DropRequest&) = default;
};
// Nothing for less than 8 bytes, numbers of 32 bits, and a range that ends before it begins.
std::optional<DropRequest> parse_drop_request(const ControlHeader& header, std::span<const uint8_t> contents);

// To whom a packet goes, and its time in our clock of the session.
struct Target {
    uint32_t destination = 0;
    uint32_t timestamp_us = 0;
};

// The writers return the packet's size; 0 when `out` is too small.
size_t write_ack(std::span<uint8_t> out, Target target, const Ack& ack);
size_t write_ack_ack(std::span<uint8_t> out, Target target, uint32_t number);
size_t write_keepalive(std::span<uint8_t> out, Target target);
size_t write_shutdown(std::span<uint8_t> out, Target target);
size_t write_drop_request(std::span<uint8_t> out, Target target, const DropRequest& request);

// Writes a NAK range by range.
class NakWriter {
  public:
    NakWriter(std::span<uint8_t> out, Target target);
    // False when there is no room: the range is not in the packet, and belongs into a later one.
    bool add(SequenceRange range);
    // 0 when there is no range.
    size_t size() const { return size_ > kHeaderSize ? size_ : 0; }

  private:
    std::span<uint8_t> out_;
    size_t size_ = 0;
};

}  // namespace srt
