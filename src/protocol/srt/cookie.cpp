#include "protocol/srt/cookie.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace srt {

namespace {

constexpr int64_t kMinuteUs = 60'000'000;

struct SipState {
    uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
        v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
        v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
        v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
    }
    void add(uint64_t word) {
        v3 ^= word;
        round(), round();
        v0 ^= word;
    }
};

uint64_t little_endian(std::span<const uint8_t> bytes) {
    uint64_t word = 0;
    for (size_t i = bytes.size(); i > 0; --i) word = word << 8 | bytes[i - 1];
    return word;
}

uint32_t cookie_of(const CookieSecret& secret, const base::Endpoint& from, int64_t minute) {
    std::array<uint8_t, 26> bytes{};
    std::ranges::copy(from.ip.bytes, bytes.begin());
    base::put_u16(&bytes[16], from.port);
    base::put_u32(&bytes[18], static_cast<uint32_t>(minute >> 32));
    base::put_u32(&bytes[22], static_cast<uint32_t>(minute));
    return static_cast<uint32_t>(sip_hash(secret, bytes));
}

}  // namespace

uint64_t sip_hash(const CookieSecret& key, std::span<const uint8_t> bytes) {
    const uint64_t k0 = little_endian(std::span(key).first(8)), k1 = little_endian(std::span(key).last(8));
    SipState state{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                   k1 ^ 0x7465646279746573u};
    const uint64_t length = bytes.size();
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state.add(little_endian(bytes.first(8)));
    state.add(length << 56 | little_endian(bytes));
    state.v2 ^= 0xff;
    for (int i = 0; i < 4; ++i) state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint32_t make_cookie(const CookieSecret& secret, const base::Endpoint& from, int64_t now_us) {
    return cookie_of(secret, from, now_us / kMinuteUs);
}

bool is_cookie(uint32_t cookie, const CookieSecret& secret, const base::Endpoint& from, int64_t now_us) {
    const int64_t minute = now_us / kMinuteUs;
    return cookie == cookie_of(secret, from, minute) || cookie == cookie_of(secret, from, minute - 1);
}

}  // namespace srt
