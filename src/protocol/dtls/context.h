#pragma once
// The settings that all DTLS endpoints of one certificate share: versions, cipher suites, SRTP profiles (RFC 5764),
// held in OpenSSL's SSL_CTX. Certificates are required of both sides (RFC 8842). Session resumption, renegotiation and
// tickets are disabled.

#include <memory>

#include "protocol/dtls/certificate.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace dtls {

// kAuto: DTLS 1.2, or 1.0 with a peer that does not support 1.2.
enum class Version : uint8_t { kAuto, kDtls10, kDtls12 };

class Context {
  public:
    // kSystem: OpenSSL's error.
    static base::Result<std::shared_ptr<const Context>> make(Certificate certificate, Version version = Version::kAuto);

    explicit Context(Certificate certificate) : certificate_(std::move(certificate)) {}
    Context(const Context&) = delete;
    ~Context();

    const Certificate& certificate() const { return certificate_; }
    ssl_ctx_st* get() const { return context_; }

  private:
    Certificate certificate_;
    ssl_ctx_st* context_ = nullptr;
};

}  // namespace dtls
