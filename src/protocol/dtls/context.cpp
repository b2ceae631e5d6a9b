#include "protocol/dtls/context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "protocol/dtls/handshake.h"
#include "protocol/dtls/openssl.h"
#include "protocol/srtp/keys.h"

namespace dtls {
namespace {

// GCM first: after a handshake with it an endpoint needs little memory (epilogue.h). kOldSuites are for DTLS 1.0.
constexpr const char* kSuites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384";
constexpr const char* kOldSuites = ":ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:@SECLEVEL=0";
// Security level 0, which the signatures of DTLS 1.0 require, would allow SHA-1 in those of 1.2 too.
constexpr const char* kSignatures =
    "ECDSA+SHA256:RSA-PSS+SHA256:RSA+SHA256:ECDSA+SHA384:RSA-PSS+SHA384:RSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA512:RSA+"
    "SHA512";

// OpenSSL's buffer for the largest message of a flight has this size plus its overhead.
constexpr long kSendFragment = 1200;

std::string profiles() {
    std::string names;
    for (auto profile : {srtp::Profile::kAeadAes128Gcm, srtp::Profile::kAes128CmSha1_80}) {
        if (!names.empty()) names += ':';
        names += srtp::profile_info(profile).dtls_name;
    }
    return names;
}

bool set_up(SSL_CTX* context, const Certificate& certificate, Version version) {
    const bool old = version != Version::kDtls12;
    const int least = old ? DTLS1_VERSION : DTLS1_2_VERSION;
    const int most = version == Version::kDtls10 ? DTLS1_VERSION : DTLS1_2_VERSION;
    // With encrypt-then-MAC (RFC 7366), OpenSSL ends a connection for one record whose MAC is wrong, which anybody can
    // send. Without it such a record is dropped (RFC 6347, 4.1.2.7).
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_ENCRYPT_THEN_MAC);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_send_fragment(context, kSendFragment);
    SSL_CTX_set_max_cert_list(context, FragmentFilter::kMaxMessage);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_cert_verify_callback(context, Handshake::verify_certificate, nullptr);
    return SSL_CTX_set_cipher_list(context, (std::string(kSuites) + (old ? kOldSuites : "")).c_str()) == 1 &&
           SSL_CTX_set1_sigalgs_list(context, kSignatures) == 1 &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1 &&
           SSL_CTX_set_min_proto_version(context, least) == 1 && SSL_CTX_set_max_proto_version(context, most) == 1 &&
           SSL_CTX_use_certificate(context, certificate.x509()) == 1 &&
           SSL_CTX_use_PrivateKey(context, certificate.key()) == 1 &&
           SSL_CTX_set_tlsext_use_srtp(context, profiles().c_str()) == 0;  // 0 is success here
}

}  // namespace

Context::~Context() { SSL_CTX_free(context_); }

base::Result<std::shared_ptr<const Context>> Context::make(Certificate certificate, Version version) {
    ERR_clear_error();
    auto made = std::make_shared<Context>(std::move(certificate));
    made->context_ = SSL_CTX_new(DTLS_method());
    if (!made->context_ || !set_up(made->context_, made->certificate_, version))
        return base::fail(base::Code::kSystem, "DTLS: " + openssl_error_text());
    return made;
}

}  // namespace dtls
