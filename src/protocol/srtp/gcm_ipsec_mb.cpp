#if defined(__x86_64__)

#include "protocol/srtp/gcm_ipsec_mb.h"

#define NO_COMPAT_IMB_API_053  // names of older versions, some of which are OpenSSL's
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "base/result.h"

namespace srtp {

namespace {

// The library's functions for this processor.
const IMB_MGR& functions() {
    static const IMB_MGR* const one = [] {
        IMB_MGR* made = alloc_mb_mgr(0);
        CHECK(made != nullptr);
        init_mb_mgr_auto(made, nullptr);
        CHECK(imb_get_errno(made) == 0);
        return made;
    }();
    return *one;
}

}  // namespace

std::string GcmIpsecMb::library() { return std::string("IPsec-MB ") + imb_get_version_str(); }

void GcmIpsecMb::Free::operator()(gcm_key_data* key) const {
    OPENSSL_cleanse(key, sizeof *key);
    delete key;
}

GcmIpsecMb::GcmIpsecMb(Key key) : expanded_(new gcm_key_data) { set_key(key); }

void GcmIpsecMb::set_key(Key key) {
    std::ranges::copy(key, key_.begin());
    functions().gcm128_pre(key.data(), expanded_.get());
}

GcmIpsecMb& GcmIpsecMb::with(Key key) {
    static thread_local GcmIpsecMb one(key);
    if (!std::ranges::equal(one.key_, key)) one.set_key(key);
    return one;
}

void GcmIpsecMb::seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> first,
                      std::span<const uint8_t> second, uint8_t* out) {
    const IMB_MGR& imb = functions();
    gcm_context_data running;
    uint8_t* tag = out + first.size() + second.size();
    if (first.empty()) {
        imb.gcm128_enc(expanded_.get(), &running, out, second.data(), second.size(), iv, aad.data(), aad.size(), tag,
                       kGcmTagSize);
        return;
    }
    imb.gcm128_init(expanded_.get(), &running, iv, aad.data(), aad.size());
    imb.gcm128_enc_update(expanded_.get(), &running, out, first.data(), first.size());
    imb.gcm128_enc_update(expanded_.get(), &running, out + first.size(), second.data(), second.size());
    imb.gcm128_enc_finalize(expanded_.get(), &running, tag, kGcmTagSize);
}

bool GcmIpsecMb::open(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<uint8_t> text,
                      std::span<const uint8_t> tag) {
    gcm_context_data running;
    uint8_t computed[kGcmTagSize];
    CHECK(tag.size() <= sizeof computed);
    functions().gcm128_dec(expanded_.get(), &running, text.data(), text.data(), text.size(), iv, aad.data(), aad.size(),
                           computed, sizeof computed);
    return CRYPTO_memcmp(computed, tag.data(), tag.size()) == 0;
}

}  // namespace srtp

#endif
