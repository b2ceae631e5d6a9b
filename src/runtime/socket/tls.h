#pragma once
// TLS (1.2 and 1.3) by OpenSSL over a ByteStream. A context holds certificate and key, is created once and shared.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/socket/byte_stream.h"

namespace runtime {

class TlsContext {
  public:
    virtual ~TlsContext() = default;
};

// PEM files. The error names the file and what is wrong with it. protocols: for ALPN (RFC 7301), the preferred one
// first; the client may know none of them. See ByteStream::protocol().
base::Result<std::shared_ptr<TlsContext>> tls_server_context(const std::string& certificate_file,
                                                             const std::string& key_file,
                                                             std::span<const std::string_view> protocols = {});
// Of a server's certificate.
struct CertificateInfo {
    std::string text;       // for the log: "CN=live.example, valid until 2027-03-01, SHA-256 0a1b2c3d4e5f6071"
    int64_t valid_until_s;  // since 1970
};
CertificateInfo describe_certificate(const TlsContext& context);
// verify: the server's certificate is checked against the system's trust store, or against the PEM file ca_file
// instead, and against the host name. protocols: offered by ALPN, the preferred one first. Reads files: may be called
// on a worker.
base::Result<std::shared_ptr<TlsContext>> tls_client_context(bool verify, const std::string& ca_file = {},
                                                             std::span<const std::string_view> protocols = {});

// Both do the TLS handshake; the stream they return owns the plain one.
base::Result<std::unique_ptr<ByteStream>> tls_accept(std::unique_ptr<ByteStream> plain,
                                                     std::shared_ptr<TlsContext> context, Deadline deadline);
base::Result<std::unique_ptr<ByteStream>> tls_connect(std::unique_ptr<ByteStream> plain,
                                                      std::shared_ptr<TlsContext> context, const std::string& host_name,
                                                      Deadline deadline);

}  // namespace runtime
