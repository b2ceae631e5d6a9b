#pragma once
// The contents (CIF) of SRT handshakes of version 5, and of the induction of version 4 that comes before
// (draft-sharabayko-srt-01, 3.2.1 and 4.3): fields, extensions, codes of refusal, and a writer. Who sends what when is
// in listener.h and caller.h. Key messages are opaque here (key_material.h). Rendezvous is not supported.
//
// libsrt handles extensions with texts as words of the host: on the wire the four bytes of each word are reversed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/srt/packet.h"

namespace srt {

inline constexpr size_t kHandshakeSize = 48;                            // without extensions
inline constexpr size_t kBareHandshake = kHeaderSize + kHandshakeSize;  // the datagram of one without extensions
inline constexpr uint16_t kInductionMagic = 0x4a17;                     // extension field of a listener's INDUCTION
inline constexpr uint16_t kDatagramSocket = 2;                          // the same of a caller's
inline constexpr size_t kMaxStreamId = 512;                             // bytes
inline constexpr uint32_t kLibraryVersion = 0x010505;                   // as which we present ourselves
inline constexpr uint32_t kMinLibraryVersion = 0x010300;                // the first with handshakes of version 5

// Any other value is a refusal, or means nothing.
enum class HandshakeType : uint32_t {
    kWaveAHand = 0,  // rendezvous
    kInduction = 1,
    kDone = 0xfffffffd,
    kAgreement = 0xfffffffe,
    kConclusion = 0xffffffff,
};

// What stands in the type of a handshake that refuses. libsrt adds 1000 to its reasons, so an application's 1404 is
// 2404 here.
enum class Refusal : uint32_t {
    kUnknown = 1000,
    kSystem = 1001,
    kPeer = 1002,
    kResource = 1003,
    kRogue = 1004,  // malformed
    kBacklog = 1005,
    kInternal = 1006,
    kClosed = 1007,
    kVersion = 1008,
    kRendezvousCookie = 1009,
    kBadSecret = 1010,
    kUnsecure = 1011,  // only one side has a passphrase
    kMessageApi = 1012,
    kCongestion = 1013,
    kFilter = 1014,
    kGroup = 1015,
    kTimeout = 1016,
    kCrypto = 1017,  // a cipher that is not supported
    kUnknownHost = 2003,
    kBadRequest = 2400,
    kUnauthorized = 2401,
    kOverload = 2402,
    kForbidden = 2403,
    kNotFound = 2404,
    kBadMode = 2405,
    kConflict = 2409,
    kMediaType = 2415,
    kLocked = 2423,
    kInternalError = 2500,
    kUnavailable = 2503,
    kLoop = 2508,
};
inline bool is_refusal(HandshakeType type) {
    return static_cast<uint32_t>(type) >= 1000 && static_cast<uint32_t>(type) < 0x80000000u;
}
// "not found"; "refused" for codes without a name.
std::string_view refusal_text(Refusal refusal);

struct Handshake {
    uint32_t version = 5;
    uint16_t encryption = 0;  // key length / 8, or 0. Says nothing: libsrt sends 0 with keys, too
    uint16_t extension_field = 0;
    uint32_t initial_sequence = 0;
    uint32_t mtu = 1500;          // with the headers of IP and UDP
    uint32_t flow_window = 8192;  // packets
    HandshakeType type = HandshakeType::kInduction;
    uint32_t socket_id = 0;  // the sender's
    uint32_t cookie = 0;
    std::array<uint8_t, 16> peer_ip{};  // as libsrt writes it; nobody reads it
    friend bool operator==(const Handshake&, const Handshake&) = default;
};

// A datagram with a handshake: a view, for as long as the datagram.
struct HandshakePacket {
    ControlHeader header;
    Handshake handshake;
    std::span<const uint8_t> extensions;
};
// Nothing for other packets, and for less than kBareHandshake bytes. Values are not checked.
std::optional<HandshakePacket> parse_handshake(std::span<const uint8_t> datagram);

enum class ExtensionType : uint16_t {
    kHsRequest = 1,
    kHsResponse = 2,
    kKmRequest = 3,
    kKmResponse = 4,
    kStreamId = 5,
    kCongestion = 6,
    kFilter = 7,
    kGroup = 8,
};

struct Extension {
    ExtensionType type{};
    std::span<const uint8_t> contents;  // whole words
};

// Iterates over the extensions of a handshake; stops at one that is longer than the datagram.
class ExtensionReader {
  public:
    explicit ExtensionReader(std::span<const uint8_t> extensions) : rest_(extensions) {}
    std::optional<Extension> next();
    // At the end: an extension was cut off. Bytes at the end that are no whole word are ignored.
    bool truncated() const { return truncated_; }

  private:
    std::span<const uint8_t> rest_;
    bool truncated_ = false;
};

// Flags of HSREQ and HSRSP.
inline constexpr uint32_t kTsbpdSend = 1, kTsbpdReceive = 2, kCrypt = 4, kTooLateDrop = 8, kPeriodicNak = 0x10,
                          kRetransmitFlag = 0x20, kStreamMode = 0x40, kFilterCapable = 0x80;

// The contents of HSREQ and HSRSP.
struct Capabilities {
    uint32_t version = kLibraryVersion;
    uint32_t flags = 0;
    uint16_t receiver_delay_ms = 0;
    uint16_t sender_delay_ms = 0;
    friend bool operator==(const Capabilities&, const Capabilities&) = default;
};
// Nothing for less than 8 bytes, and for less than 12 if the flags want delays.
std::optional<Capabilities> parse_capabilities(std::span<const uint8_t> contents);

// The text of a stream id, a congestion controller or a filter: words put in order, zeros at the end removed.
std::string parse_text(std::span<const uint8_t> contents);

// Writes a whole datagram with a handshake into memory of the caller. Of a CONCLUSION it keeps the extension field:
// bit 0 for HSREQ or HSRSP, bit 1 for a key message, bit 2 for others.
class HandshakeWriter {
  public:
    HandshakeWriter(std::span<uint8_t> out, Target target, const Handshake& handshake);
    void capabilities(ExtensionType type, const Capabilities& capabilities);
    // Contents of any length; zeros fill the last word.
    void bytes(ExtensionType type, std::span<const uint8_t> contents);
    void text(ExtensionType type, std::string_view text);
    // The datagram's size; 0 when something did not fit.
    size_t finish() const { return ok_ ? size_ : 0; }

  private:
    // Room for the contents, filled with zeros; null when there is none.
    uint8_t* begin(ExtensionType type, size_t size);

    std::span<uint8_t> out_;
    size_t size_ = 0;
    bool concludes_ = false;
    bool ok_ = false;
};

}  // namespace srt
