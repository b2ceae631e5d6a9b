#include "protocol/stun/message.h"

#include <openssl/crypto.h>

#include "base/bytes.h"

namespace stun {
namespace {

// The type's bits are M11-M7 C1 M6-M4 C0 M3-M0 (RFC 8489, 5).
Class class_of(uint16_t type) { return static_cast<Class>((type >> 7 & 2) | (type >> 4 & 1)); }
uint16_t method_of(uint16_t type) {
    return static_cast<uint16_t>((type >> 2 & 0xf80) | (type >> 1 & 0x070) | (type & 0x00f));
}

auto bad(const char* what) { return base::fail(base::Code::kProtocol, what); }

bool read_mapped(base::ByteReader value, const TransactionId& transaction, Message& message) {
    value.skip(1);
    const uint8_t family = value.u8();
    base::Endpoint address;
    address.port = value.u16() ^ static_cast<uint16_t>(kMagicCookie >> 16);
    auto& ip = address.ip.bytes;
    if (family == 1 && value.left() == 4) {
        base::put_u32(&ip[12], value.u32() ^ kMagicCookie);
        ip[10] = ip[11] = 0xff;
    } else if (family == 2 && value.left() == 16) {
        base::put_u32(&ip[0], value.u32() ^ kMagicCookie);
        for (size_t i = 4; i < 16; ++i) ip[i] = value.u8() ^ transaction[i - 4];
    } else {
        return false;
    }
    message.mapped = address;
    return true;
}

// False: a size that is invalid for the attribute.
bool read_attribute(uint16_t type, std::span<const uint8_t> bytes, Message& message) {
    base::ByteReader value(bytes);
    switch (static_cast<Attribute>(type)) {
        case Attribute::kUsername:
            message.username = value.text(bytes.size());
            return bytes.size() <= kMaxUsername;
        case Attribute::kErrorCode: {
            value.skip(2);
            const unsigned hundreds = value.u8() & 7, rest = value.u8();
            message.error_code = static_cast<uint16_t>(hundreds * 100 + rest);
            return value.ok() && hundreds >= 3 && hundreds <= 6 && rest < 100;
        }
        case Attribute::kXorMappedAddress:
            return read_mapped(value, message.transaction, message);
        case Attribute::kPriority:
            message.priority = value.u32();
            return bytes.size() == 4;
        case Attribute::kUseCandidate:
            message.use_candidate = true;
            return bytes.empty();
        case Attribute::kIceControlled:
            message.controlled = value.u64();
            return bytes.size() == 8;
        case Attribute::kIceControlling:
            message.controlling = value.u64();
            return bytes.size() == 8;
        case Attribute::kUnknownAttributes:
        case Attribute::kSoftware:
            return true;
        default:
            break;
    }
    if (type < 0x8000) {
        if (message.unknown_count < kMaxUnknown) message.unknown[message.unknown_count] = type;
        ++message.unknown_count;
    }
    return true;
}

}  // namespace

std::string_view Message::receiver_ufrag() const { return username.substr(0, username.find(':')); }

std::string_view Message::sender_ufrag() const {
    const size_t colon = username.find(':');
    return colon == std::string_view::npos ? std::string_view() : username.substr(colon + 1);
}

bool Message::check_integrity(std::string_view key) const {
    if (!has_integrity()) return false;
    // The digest covers a header whose length ends with the integrity attribute, whatever follows it (RFC 8489, 14.5).
    std::array<uint8_t, kHeaderSize> header;
    std::copy_n(datagram.begin(), kHeaderSize, header.begin());
    base::put_u16(&header[2], static_cast<uint32_t>(integrity_offset + kIntegritySize - kHeaderSize));
    const auto digest = hmac_sha1(key, header, datagram.subspan(kHeaderSize, integrity_offset - kHeaderSize));
    return CRYPTO_memcmp(digest.data(), &datagram[integrity_offset + 4], digest.size()) == 0;
}

bool looks_like_stun(std::span<const uint8_t> datagram) {
    if (datagram.size() < kHeaderSize || datagram[0] & 0xc0 || datagram[3] & 3) return false;
    base::ByteReader reader(datagram.subspan(4));
    return reader.u32() == kMagicCookie;
}

base::Result<Message> parse(std::span<const uint8_t> datagram) {
    if (!looks_like_stun(datagram)) return bad("no STUN message");
    Message message;
    message.datagram = datagram;
    base::ByteReader reader(datagram);
    const uint16_t type = reader.u16();
    message.kind = class_of(type);
    message.method = method_of(type);
    if (reader.u16() != datagram.size() - kHeaderSize) return bad("STUN: the length is not that of the datagram");
    reader.skip(4);
    for (auto& byte : message.transaction) byte = reader.u8();

    while (reader.left()) {
        const size_t offset = datagram.size() - reader.left();
        if (message.has_fingerprint) return bad("STUN: data after the fingerprint");
        const uint16_t attribute = reader.u16();
        const uint16_t size = reader.u16();
        const auto value = reader.bytes(size);
        reader.skip((4 - size % 4) % 4);
        if (!reader.ok()) return bad("STUN: an attribute goes beyond the message");
        if (attribute == static_cast<uint16_t>(Attribute::kFingerprint)) {
            if (size != 4) return bad("STUN: a fingerprint of the wrong size");
            if (base::ByteReader(value).u32() != fingerprint_of(datagram.first(offset)))
                return bad("STUN: wrong fingerprint");
            message.has_fingerprint = true;
        } else if (message.has_integrity()) {
            continue;
        } else if (attribute == static_cast<uint16_t>(Attribute::kMessageIntegrity)) {
            if (size + 4u != kIntegritySize) return bad("STUN: an integrity of the wrong size");
            message.integrity_offset = offset;
        } else if (!read_attribute(attribute, value, message)) {
            return bad("STUN: an attribute of the wrong size");
        }
    }
    return message;
}

}  // namespace stun
