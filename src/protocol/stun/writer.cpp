#include "protocol/stun/writer.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace stun {

Writer::Writer(std::span<uint8_t> out, Class kind, const TransactionId& transaction, uint16_t method)
    : out_(out), transaction_(transaction) {
    if (out_.size() < kHeaderSize) {
        ok_ = false;
        return;
    }
    const unsigned c = static_cast<unsigned>(kind), m = method;
    uint8_t* p = out_.data();
    p = base::put_u16(p, (m & 0xf80) << 2 | (m & 0x070) << 1 | (m & 0x00f) | (c & 2) << 7 | (c & 1) << 4);
    p = base::put_u16(p, 0);
    p = base::put_u32(p, kMagicCookie);
    std::copy(transaction.begin(), transaction.end(), p);
    size_ = kHeaderSize;
}

uint8_t* Writer::begin(Attribute type, size_t size) {
    const size_t padded = (size + 3) & ~size_t{3};
    if (!ok_ || size > 0xffff || out_.size() - size_ < 4 + padded) {
        ok_ = false;
        return nullptr;
    }
    uint8_t* p = base::put_u16(out_.data() + size_, static_cast<uint16_t>(type));
    p = base::put_u16(p, static_cast<uint32_t>(size));
    std::memset(p + size, 0, padded - size);
    size_ += 4 + padded;
    return p;
}

void Writer::attribute(Attribute type, std::span<const uint8_t> value) {
    if (uint8_t* p = begin(type, value.size())) std::copy(value.begin(), value.end(), p);
}

void Writer::integer(Attribute type, uint64_t value, size_t size) {
    uint8_t* p = begin(type, size);
    if (!p) return;
    for (size_t i = 0; i < size; ++i) p[i] = static_cast<uint8_t>(value >> (8 * (size - 1 - i)));
}

void Writer::mapped(const base::Endpoint& address) {
    uint8_t* p = begin(Attribute::kXorMappedAddress, address.is_v4() ? 8 : 20);
    if (!p) return;
    const auto& ip = address.ip.bytes;
    *p++ = 0;
    *p++ = address.is_v4() ? 1 : 2;
    p = base::put_u16(p, address.port ^ (kMagicCookie >> 16));
    std::array<uint8_t, 16> mask;
    std::copy(transaction_.begin(), transaction_.end(), base::put_u32(mask.data(), kMagicCookie));
    const size_t first = address.is_v4() ? 12 : 0;
    for (size_t i = first; i < 16; ++i) *p++ = ip[i] ^ mask[i - first];
}

void Writer::error(uint16_t code, std::string_view reason) {
    uint8_t* p = begin(Attribute::kErrorCode, 4 + reason.size());
    if (!p) return;
    p = base::put_u16(p, 0);
    *p++ = static_cast<uint8_t>(code / 100);
    *p++ = static_cast<uint8_t>(code % 100);
    std::copy(reason.begin(), reason.end(), p);
}

void Writer::unknown(std::span<const uint16_t> types) {
    uint8_t* p = begin(Attribute::kUnknownAttributes, types.size() * 2);
    if (!p) return;
    for (uint16_t type : types) p = base::put_u16(p, type);
}

size_t Writer::finish(std::string_view key, bool fingerprint) {
    if (!key.empty() && ok_) {
        const size_t signed_size = size_;
        if (uint8_t* p = begin(Attribute::kMessageIntegrity, kIntegritySize - 4)) {
            set_length(size_);
            const auto digest = hmac_sha1(key, out_.first(signed_size));
            std::copy(digest.begin(), digest.end(), p);
        }
    }
    if (fingerprint && ok_) {
        const size_t before = size_;
        if (uint8_t* p = begin(Attribute::kFingerprint, kFingerprintSize - 4)) {
            set_length(size_);
            base::put_u32(p, fingerprint_of(out_.first(before)));
        }
    }
    if (!ok_) return 0;
    set_length(size_);
    return size_;
}

}  // namespace stun
