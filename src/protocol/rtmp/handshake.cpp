#include "protocol/rtmp/handshake.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace rtmp {

using base::Code;
using base::fail;
using base::Result;

namespace {

using Digest = std::array<uint8_t, 32>;

// The keys are the product names; for answers (C2, S2) kSecret is appended.
constexpr std::string_view kPlayerName = "Genuine Adobe Flash Player 001";
constexpr std::string_view kServerName = "Genuine Adobe Flash Media Server 001";
constexpr uint8_t kSecret[32] = {0xf0, 0xee, 0xc2, 0x4a, 0x80, 0x68, 0xbe, 0xe8, 0x2e, 0x00, 0xd0,
                                 0xd1, 0x02, 0x9e, 0x7e, 0x57, 0x6e, 0xec, 0x5d, 0x2d, 0x29, 0x80,
                                 0x6f, 0xab, 0x93, 0xb8, 0xe6, 0x36, 0xcf, 0xeb, 0x31, 0xae};

std::vector<uint8_t> key(Side side, bool with_secret) {
    std::string_view name = side == Side::kClient ? kPlayerName : kServerName;
    std::vector<uint8_t> bytes(name.begin(), name.end());
    if (with_secret) bytes.insert(bytes.end(), std::begin(kSecret), std::end(kSecret));
    return bytes;
}

Digest hmac(std::span<const uint8_t> key, std::span<const uint8_t> one, std::span<const uint8_t> two = {}) {
    // Two spans: the packet before and after the digest.
    std::array<uint8_t, kHandshakeSize> joined;
    CHECK(one.size() + two.size() <= joined.size());
    std::copy(one.begin(), one.end(), joined.begin());
    std::copy(two.begin(), two.end(), joined.begin() + static_cast<ptrdiff_t>(one.size()));
    Digest digest;
    unsigned size = digest.size();
    CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), joined.data(), one.size() + two.size(),
               digest.data(), &size) != nullptr);
    return digest;
}

// In scheme 0 the key block is first and the digest block is at 772, in scheme 1 the digest block is first, at 8. The
// sum of the block's first four bytes gives the position of the digest in the remaining 728.
size_t digest_offset(std::span<const uint8_t> packet, int scheme) {
    size_t block = scheme == 0 ? 772 : 8;
    size_t sum = packet[block] + packet[block + 1] + packet[block + 2] + packet[block + 3];
    return block + 4 + sum % 728;
}

Digest digest_of(std::span<const uint8_t> packet, size_t offset, Side side) {
    return hmac(key(side, false), packet.first(offset), packet.subspan(offset + sizeof(Digest)));
}

void sign(std::span<uint8_t> packet, int scheme, Side side) {
    size_t offset = digest_offset(packet, scheme);
    Digest digest = digest_of(packet, offset, side);
    std::copy(digest.begin(), digest.end(), packet.begin() + static_cast<ptrdiff_t>(offset));
}

// C2 or S2 in the digest handshake: random bytes, signed with a key derived from the peer's digest.
void answer_digest(std::span<const uint8_t> theirs, int scheme, Side us, std::span<uint8_t> out) {
    Digest temporary = hmac(key(us, true), theirs.subspan(digest_offset(theirs, scheme), sizeof(Digest)));
    Digest digest = hmac(temporary, out.first(kHandshakeSize - sizeof(Digest)));
    std::copy(digest.begin(), digest.end(), out.end() - sizeof(Digest));
}

}  // namespace

std::optional<int> find_digest(std::span<const uint8_t> packet, Side side) {
    for (int scheme : {0, 1}) {
        size_t offset = digest_offset(packet, scheme);
        Digest digest = digest_of(packet, offset, side);
        if (std::memcmp(digest.data(), packet.data() + offset, digest.size()) == 0) return scheme;
    }
    return std::nullopt;
}

std::string ServerHandshake::progress() const {
    switch (state_) {
        case State::kC0:
            return "waiting for C0";
        case State::kC1:
            return fmt::format("waiting for C1, {} of {} bytes", c1_.size(), kHandshakeSize);
        case State::kC2:
            return fmt::format("waiting for C2, {} of {} bytes", c2_seen_, kHandshakeSize);
        case State::kDone:
            break;
    }
    return "handshake done";
}

Result<size_t> ServerHandshake::feed(std::span<const uint8_t> in, uint32_t now_ms, std::vector<uint8_t>& out) {
    size_t size = in.size();
    if (state_ == State::kC0 && !in.empty()) {
        if (in[0] == 6 || in[0] == 8)
            return fail(Code::kProtocol, fmt::format("C0 asks for encrypted RTMP ({})", in[0]));
        if (in[0] != kVersion) return fail(Code::kProtocol, fmt::format("C0 says version {}, not 3", in[0]));
        in = in.subspan(1);
        state_ = State::kC1;
    }
    if (state_ == State::kC1) {
        size_t n = std::min(in.size(), kHandshakeSize - c1_.size());
        if (n) c1_.reserve(kHandshakeSize);
        c1_.insert(c1_.end(), in.begin(), in.begin() + static_cast<ptrdiff_t>(n));
        in = in.subspan(n);
        if (c1_.size() == kHandshakeSize) {
            answer(now_ms, out);
            c1_ = {};
            state_ = State::kC2;
        }
    }
    if (state_ == State::kC2) {
        size_t n = std::min(in.size(), kHandshakeSize - c2_seen_);
        c2_seen_ = static_cast<uint16_t>(c2_seen_ + n);
        in = in.subspan(n);
        if (c2_seen_ == kHandshakeSize) state_ = State::kDone;
    }
    return size - in.size();
}

void ServerHandshake::answer(uint32_t now_ms, std::vector<uint8_t>& out) {
    scheme_ = find_digest(c1_, Side::kClient);
    size_t at = out.size();
    out.resize(at + 1 + 2 * kHandshakeSize);
    out[at] = kVersion;
    std::span s1(out.data() + at + 1, kHandshakeSize);
    std::span s2(out.data() + at + 1 + kHandshakeSize, kHandshakeSize);
    random_(s1.subspan(8));
    base::put_u32(s1.data(), now_ms);
    if (!scheme_) {
        base::put_u32(s1.data() + 4, 0);
        // S2 repeats C1 completely, including the second timestamp: some clients compare all of it.
        std::copy(c1_.begin(), c1_.end(), s2.begin());
        return;
    }
    base::put_u32(s1.data() + 4, 0x04050001);  // a version above 3 makes clients look for the digest
    sign(s1, *scheme_, Side::kServer);
    random_(s2);
    answer_digest(c1_, *scheme_, Side::kServer, s2);
}

void ClientHandshake::start(uint32_t now_ms, std::vector<uint8_t>& out) {
    size_t at = out.size();
    out.resize(at + 1 + kHandshakeSize);
    out[at] = kVersion;
    std::span c1(out.data() + at + 1, kHandshakeSize);
    random_(c1.subspan(8));
    base::put_u32(c1.data(), now_ms);
    base::put_u32(c1.data() + 4, with_digest_ ? 0x09007c02 : 0);
    if (with_digest_) sign(c1, 1, Side::kClient);
}

Result<size_t> ClientHandshake::feed(std::span<const uint8_t> in, uint32_t now_ms, std::vector<uint8_t>& out) {
    constexpr size_t kAll = 1 + 2 * kHandshakeSize;
    if (done_) return size_t{0};
    if (received_.empty() && !in.empty() && in[0] != kVersion)
        return fail(Code::kProtocol, fmt::format("S0 says version {}, not 3", in[0]));
    size_t n = std::min(in.size(), kAll - received_.size());
    received_.insert(received_.end(), in.begin(), in.begin() + static_cast<ptrdiff_t>(n));
    if (received_.size() < kAll) return n;

    std::span<const uint8_t> s1 = std::span(received_).subspan(1, kHandshakeSize);
    auto scheme = with_digest_ ? find_digest(s1, Side::kServer) : std::nullopt;
    size_t at = out.size();
    if (scheme) {
        out.resize(at + kHandshakeSize);
        std::span c2(out.data() + at, kHandshakeSize);
        random_(c2);
        answer_digest(s1, *scheme, Side::kClient, c2);
    } else {
        out.insert(out.end(), s1.begin(), s1.end());
        base::put_u32(out.data() + at + 4, now_ms);
    }
    received_ = {};
    done_ = true;
    return n;
}

}  // namespace rtmp
