#pragma once
// What all DTLS endpoints of one certificate share: versions, cipher suites, SRTP profiles (RFC 5764), OpenSSL's
// SSL_CTX. Certificates are asked of both sides (RFC 8842); no session is resumed, nothing renegotiated, no tickets.

#include <memory>

#include "protocol/dtls/certificate.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace dtls {

// kAuto: 1.2, with a peer that cannot 1.0.
enum class Version : uint8_t { kAuto, kDtls10, kDtls12 };

class Context {
  public:
    // kSystem: what OpenSSL says.
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
