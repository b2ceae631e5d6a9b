#include "protocol/srtp/gcm_openssl.h"

#include <openssl/crypto.h>

namespace srtp {

std::string GcmOpenssl::library() { return std::string("OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING); }

GcmOpenssl& GcmOpenssl::with(Key key) {
    static thread_local GcmOpenssl one(key);
    one.context_.set_key(key);
    return one;
}

void GcmOpenssl::seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> first,
                      std::span<const uint8_t> second, uint8_t* out) {
    context_.begin(iv, true);
    context_.update(aad, nullptr);
    context_.update(first, out);
    context_.update(second, out + first.size());
    context_.put_tag({out + first.size() + second.size(), kGcmTagSize});
}

bool GcmOpenssl::open(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<uint8_t> text,
                      std::span<const uint8_t> tag) {
    context_.begin(iv, false);
    context_.update(aad, nullptr);
    context_.update(text, text.data());
    return context_.has_tag(tag);
}

}  // namespace srtp
