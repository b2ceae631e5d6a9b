#pragma once
// RTP packets (RFC 3550, 5.1): a bounds-checked view, a writer of headers, patches in place. Header extensions in the
// one-byte and the two-byte form (RFC 8285, 4.2 and 4.3); the values of some of them are in rtp/extensions.h.
// Encryption is not handled here: the input is a packet that SRTP has decrypted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace rtp {

inline constexpr size_t kFixedHeaderSize = 12;
// The largest header that write_header() produces: no CSRCs, 64 words of extensions.
inline constexpr size_t kMaxHeaderSize = kFixedHeaderSize + 4 + 256;
inline constexpr uint16_t kOneByteProfile = 0xbede;
inline constexpr uint16_t kTwoByteProfile = 0x1000;  // the lowest four bits may have any value

struct Header {
    bool marker = false;
    uint8_t payload_type = 0;  // 7 bits
    uint16_t sequence = 0;
    uint32_t timestamp = 0;
    uint32_t ssrc = 0;
    friend bool operator==(const Header&, const Header&) = default;
};

// One element of a header extension. id 1 to 14 in the one-byte form, 1 to 255 in the two-byte form.
struct Extension {
    uint8_t id = 0;
    std::span<const uint8_t> data;
};

// Iterates over the elements of an extension block. It stops at a truncated element, and at id 15 of the one-byte form.
class ExtensionReader {
  public:
    ExtensionReader(uint16_t profile, std::span<const uint8_t> block);
    std::optional<Extension> next();

  private:
    base::ByteReader in_;
    bool two_byte_ = false;
};

// A view: the datagram must outlive it.
class PacketView {
  public:
    // Nothing when the datagram is not RTP version 2 or one of its lengths exceeds the datagram.
    static std::optional<PacketView> parse(std::span<const uint8_t> datagram);

    const Header& header() const { return header_; }
    bool marker() const { return header_.marker; }
    uint8_t payload_type() const { return header_.payload_type; }
    uint16_t sequence() const { return header_.sequence; }
    uint32_t timestamp() const { return header_.timestamp; }
    uint32_t ssrc() const { return header_.ssrc; }

    std::span<const uint8_t> datagram() const { return datagram_; }
    size_t header_size() const { return header_size_; }  // fixed part, CSRCs and extension
    std::span<const uint8_t> payload() const {           // without padding
        return datagram_.subspan(header_size_, datagram_.size() - header_size_ - padding_);
    }
    size_t padding() const { return padding_; }
    size_t csrc_count() const { return datagram_[0] & 15u; }

    ExtensionReader extensions() const { return {extension_profile_, extension_}; }
    // The first element with that id; nothing when there is none. An element may be empty.
    std::optional<std::span<const uint8_t>> extension(uint8_t id) const;

  private:
    Header header_;
    std::span<const uint8_t> datagram_;
    std::span<const uint8_t> extension_;
    size_t header_size_ = 0;
    uint16_t extension_profile_ = 0;
    uint8_t padding_ = 0;
};

// The size of the fixed header, CSRCs and extension of a packet whose rest may be encrypted; 0 when it is not RTP. SRTP
// needs only this size; the padding is still encrypted.
size_t header_size(std::span<const uint8_t> datagram);

// The size of the header that write_header() produces. 0 when the elements cannot be encoded: an id 0, more than 255
// bytes in one, or more than 64 words in all.
size_t written_header_size(std::span<const Extension> extensions);

// Writes a header with these extensions, in the one-byte form when all elements fit it (ids up to 14, 1 to 16 bytes),
// otherwise in the two-byte form. `out` has written_header_size() bytes. Returns that size, 0 when the header cannot be
// encoded.
size_t write_header(uint8_t* out, const Header& header, std::span<const Extension> extensions = {});

// ---- In place; `packet` has at least kFixedHeaderSize bytes.

inline void set_marker(uint8_t* packet, bool marker) {
    packet[1] = static_cast<uint8_t>((packet[1] & 0x7f) | (marker ? 0x80 : 0));
}
inline void set_payload_type(uint8_t* packet, uint8_t payload_type) {
    packet[1] = static_cast<uint8_t>((packet[1] & 0x80) | (payload_type & 0x7f));
}
inline void set_sequence(uint8_t* packet, uint16_t sequence) { base::put_u16(packet + 2, sequence); }
inline void set_timestamp(uint8_t* packet, uint32_t timestamp) { base::put_u32(packet + 4, timestamp); }
inline void set_ssrc(uint8_t* packet, uint32_t ssrc) { base::put_u32(packet + 8, ssrc); }

using base::get_u16;
using base::get_u32;

}  // namespace rtp
