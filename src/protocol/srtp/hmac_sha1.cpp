#include "protocol/srtp/hmac_sha1.h"

#include "base/result.h"

namespace srtp {

namespace {

constexpr size_t kBlockSize = 64;

std::array<uint32_t, 5> state_of(const SHA_CTX& sha) { return {sha.h0, sha.h1, sha.h2, sha.h3, sha.h4}; }

// Sets SHA_CTX to its state after one block.
void resume(SHA_CTX& sha, const std::array<uint32_t, 5>& state) {
    SHA1_Init(&sha);
    sha.h0 = state[0];
    sha.h1 = state[1];
    sha.h2 = state[2];
    sha.h3 = state[3];
    sha.h4 = state[4];
    sha.Nl = kBlockSize * 8;
}

std::array<uint32_t, 5> state_after(std::span<const uint8_t> key, uint8_t pad) {
    uint8_t block[kBlockSize];
    for (size_t i = 0; i < kBlockSize; ++i) block[i] = static_cast<uint8_t>((i < key.size() ? key[i] : 0) ^ pad);
    SHA_CTX sha;
    SHA1_Init(&sha);
    SHA1_Update(&sha, block, sizeof block);
    return state_of(sha);
}

}  // namespace

HmacSha1::HmacSha1(std::span<const uint8_t> key) {
    CHECK(key.size() <= kBlockSize);
    inner_ = state_after(key, 0x36);
    outer_ = state_after(key, 0x5c);
}

void HmacSha1::Running::start(const HmacSha1& key) { resume(sha_, key.inner_); }

void HmacSha1::Running::add(std::span<const uint8_t> part) { SHA1_Update(&sha_, part.data(), part.size()); }

std::array<uint8_t, kSha1Size> HmacSha1::Running::finish(const HmacSha1& key) {
    std::array<uint8_t, kSha1Size> digest;
    SHA1_Final(digest.data(), &sha_);
    resume(sha_, key.outer_);
    SHA1_Update(&sha_, digest.data(), digest.size());
    SHA1_Final(digest.data(), &sha_);
    return digest;
}

std::array<uint8_t, kSha1Size> HmacSha1::of(std::initializer_list<std::span<const uint8_t>> parts) const {
    Running running;
    running.start(*this);
    for (auto part : parts) running.add(part);
    return running.finish(*this);
}

}  // namespace srtp
