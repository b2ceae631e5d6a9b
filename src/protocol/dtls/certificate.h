#pragma once
// A self-signed certificate and its key, generated at start. DTLS-SRTP peers verify each other's certificate by the
// fingerprint in SDP (RFC 5763, RFC 8122), so no authority has to sign it. OpenSSL supplies the random bytes and the
// date: an exception to the rule that protocol code gets them from the caller.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct x509_st;      // OpenSSL's X509
struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace dtls {

enum class KeyKind : uint8_t { kEcdsa, kRsa };  // P-256; 2048 bits

class Certificate {
  public:
    // kSystem: OpenSSL's error. RSA takes about 50 ms of processor time, ECDSA a negligible amount.
    static base::Result<Certificate> make(KeyKind kind);

    // In the form of SDP's a=fingerprint: "sha-256 4A:AD:B9:...".
    const std::string& fingerprint() const { return fingerprint_; }
    KeyKind kind() const { return kind_; }
    x509_st* x509() const { return x509_.get(); }
    evp_pkey_st* key() const { return key_.get(); }

  private:
    struct Free {
        void operator()(x509_st* certificate) const;
        void operator()(evp_pkey_st* key) const;
    };
    std::unique_ptr<x509_st, Free> x509_;
    std::unique_ptr<evp_pkey_st, Free> key_;
    std::string fingerprint_;
    KeyKind kind_ = KeyKind::kEcdsa;
};

// A fingerprint in the form of SDP: the algorithm (sha-1, sha-224, sha-256, sha-384, sha-512, any case) and the digest
// in hexadecimal pairs separated by colons, any case.
struct Fingerprint {
    std::string algorithm;  // lower case
    std::vector<uint8_t> digest;

    // kProtocol: an unknown algorithm, or a digest that does not fit the algorithm.
    static base::Result<Fingerprint> parse(std::string_view algorithm, std::string_view hex);
    bool matches(const x509_st* certificate) const;
};

}  // namespace dtls
