#include "protocol/dtls/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include "base/text.h"
#include "protocol/dtls/openssl.h"

namespace dtls {

std::string openssl_error_text() {
    const unsigned long error = ERR_peek_error();  // the first error: later ones only wrap it
    ERR_clear_error();
    const char* reason = error ? ERR_reason_error_string(error) : "unknown error";
    return reason ? reason : fmt::format("error {:x}", error);
}

namespace {

constexpr long kDay = 24 * 60 * 60;
// A server that runs longer than this still works: browsers check only the fingerprint.
constexpr long kValidDays = 3650;

const EVP_MD* digest_of(std::string_view algorithm) {
    if (algorithm == "sha-1") return EVP_sha1();
    if (algorithm == "sha-224") return EVP_sha224();
    if (algorithm == "sha-256") return EVP_sha256();
    if (algorithm == "sha-384") return EVP_sha384();
    if (algorithm == "sha-512") return EVP_sha512();
    return nullptr;
}

bool fill(X509* certificate, EVP_PKEY* key) {
    // A random serial number, positive and of 63 bits.
    uint64_t serial = 0;
    if (RAND_bytes(reinterpret_cast<uint8_t*>(&serial), sizeof serial) != 1) return false;
    X509_NAME* name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), kValidDays * kDay) && X509_set_pubkey(certificate, key) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const uint8_t*>("WebRTC"), -1, -1,
                                      0) &&
           X509_set_issuer_name(certificate, name) && X509_sign(certificate, key, EVP_sha256());
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

void Certificate::Free::operator()(x509_st* certificate) const { X509_free(certificate); }
void Certificate::Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

base::Result<Certificate> Certificate::make(KeyKind kind) {
    ERR_clear_error();
    Certificate made;
    made.kind_ = kind;
    made.key_.reset(kind == KeyKind::kEcdsa ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048));
    made.x509_.reset(X509_new());
    if (!made.key_ || !made.x509_ || !fill(made.x509(), made.key()))
        return base::fail(base::Code::kSystem, "making a certificate: " + openssl_error_text());
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (X509_digest(made.x509(), EVP_sha256(), digest, &size) != 1)
        return base::fail(base::Code::kSystem, "the fingerprint of a certificate: " + openssl_error_text());
    made.fingerprint_ = "sha-256";
    for (unsigned i = 0; i < size; ++i)
        base::append_format(made.fingerprint_, "{}{:02X}", i == 0 ? ' ' : ':', digest[i]);
    return made;
}

base::Result<Fingerprint> Fingerprint::parse(std::string_view algorithm, std::string_view hex) {
    Fingerprint parsed;
    for (char c : algorithm.substr(0, 16)) parsed.algorithm += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    const EVP_MD* md = digest_of(parsed.algorithm);
    if (!md) return base::fail(base::Code::kProtocol, "a fingerprint of an unknown algorithm");
    const auto size = static_cast<size_t>(EVP_MD_get_size(md));
    if (hex.size() != size * 3 - 1) return base::fail(base::Code::kProtocol, "a fingerprint of the wrong length");
    for (size_t i = 0; i < hex.size(); i += 3) {
        const int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
        if (high < 0 || low < 0 || (i + 2 < hex.size() && hex[i + 2] != ':'))
            return base::fail(base::Code::kProtocol, "a fingerprint that is not hexadecimal");
        parsed.digest.push_back(static_cast<uint8_t>(high << 4 | low));
    }
    return parsed;
}

bool Fingerprint::matches(const x509_st* certificate) const {
    uint8_t is[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const EVP_MD* md = digest_of(algorithm);
    if (!md || !certificate || X509_digest(certificate, md, is, &size) != 1) return false;
    return size == digest.size() && CRYPTO_memcmp(is, digest.data(), size) == 0;
}

}  // namespace dtls
