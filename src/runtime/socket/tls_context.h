#pragma once
// Internal. OpenSSL's context and the text of its error queue.

#include <openssl/ssl.h>

#include "runtime/socket/tls.h"

namespace runtime::detail {

class SslContext final : public TlsContext {
  public:
    SslContext(SSL_CTX* context, bool verify) : context_(context), verify_(verify) {}
    SslContext(const SslContext&) = delete;
    ~SslContext() override { SSL_CTX_free(context_); }
    SSL_CTX* get() const { return context_; }
    bool verify() const { return verify_; }
    // Of a client, and of a server. Only before connections are made.
    void offer_protocols(std::span<const std::string_view> protocols);
    void set_protocols(std::span<const std::string_view> protocols);

  private:
    SSL_CTX* context_;
    bool verify_;
    std::string protocols_;  // as ALPN has them: each behind its length
};

// The reason of the first error in OpenSSL's queue, which is emptied.
std::string ssl_error_text();

}  // namespace runtime::detail
