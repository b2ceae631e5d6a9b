#include <cstring>

#include "protocol/rtp/packet.h"
#include "protocol/srtp/packet_format.h"
#include "protocol/srtp/sender.h"
#include "srtp/subjects.h"

namespace measure {

namespace {

struct KeptContext final : Context {
    KeptContext(srtp::Profile profile, const srtp::MasterKey& key) : sender(profile, key) {}
    size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                   uint8_t* out) override {
        return sender.protect_rtp(header, payload, index, out);
    }
    srtp::Sender sender;
};

struct KeyedContext final : Context {
    KeyedContext(srtp::Profile profile_, const srtp::MasterKey& key)
        : profile(profile_), keys(derive_keys(profile_, key, srtp::Traffic::kRtp)) {}
    void begin_burst() override { cipher = &srtp::Cipher::shared(profile, keys.key); }
    size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                   uint8_t* out) override {
        uint32_t ssrc = rtp::get_u32(&header[8]);
        std::memcpy(out, header.data(), header.size());
        uint8_t* text = out + header.size();
        uint8_t* end = text + payload.size();
        if (profile == srtp::Profile::kAeadAes128Gcm) {
            uint8_t iv[srtp::kGcmIvSize];
            put_gcm_iv(iv, keys, ssrc, index);
            cipher->seal(iv, header, {}, payload, {}, text);
            return static_cast<size_t>(end - out) + srtp::kGcmTagSize;
        }
        uint8_t iv[srtp::kCtrIvSize], rollovers[4];
        put_ctr_iv(iv, keys, ssrc, index);
        base::put_u32(rollovers, static_cast<uint32_t>(index >> 16));
        cipher->crypt(iv, payload, {}, text);
        auto tag = keys.authentication.of({{out, end}, rollovers});
        std::memcpy(end, tag.data(), srtp::kCmTagSize);
        return static_cast<size_t>(end - out) + srtp::kCmTagSize;
    }
    srtp::Profile profile;
    srtp::SessionKeys keys;
    srtp::Cipher* cipher = nullptr;
};

template <class C>
struct Own final : Subject {
    std::unique_ptr<Context> make(srtp::Profile profile, const srtp::MasterKey& key) override {
        return std::make_unique<C>(profile, key);
    }
};

template <class C>
std::unique_ptr<Subject> own(const char* name) {
    auto subject = std::make_unique<Own<C>>();
    subject->name = name;
    return subject;
}

}  // namespace

std::unique_ptr<Subject> kept() { return own<KeptContext>("ours, context kept"); }
std::unique_ptr<Subject> keyed_per_burst() { return own<KeyedContext>("ours, keyed per burst"); }

}  // namespace measure
