#include "runtime/socket/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <cstring>

#include "runtime/socket/tls_tickets.h"

namespace runtime {
namespace detail {

std::string ssl_error_text() {
    const unsigned long error = ERR_peek_error();  // the first error: later ones only wrap it
    ERR_clear_error();
    if (!error) return "unknown TLS error";
    if (ERR_SYSTEM_ERROR(error)) return std::strerror(ERR_GET_REASON(error));
    const char* reason = ERR_reason_error_string(error);
    return reason ? reason : fmt::format("TLS error {:x}", error);
}

namespace {

// As in TLS: each with its length before it.
std::string protocol_list(std::span<const std::string_view> protocols) {
    std::string out;
    for (const std::string_view one : protocols) out.append(1, static_cast<char>(one.size())).append(one);
    return out;
}

}  // namespace

void SslContext::offer_protocols(std::span<const std::string_view> protocols) {
    const std::string list = protocol_list(protocols);
    SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned>(list.size()));
}

void SslContext::set_protocols(std::span<const std::string_view> protocols) {
    protocols_ = protocol_list(protocols);
    if (protocols_.empty()) return;
    const auto select = [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                           unsigned offered_size, void* arg) {
        const auto& ours = static_cast<const SslContext*>(arg)->protocols_;
        unsigned char* found = nullptr;
        const int result = SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                                                 static_cast<unsigned>(ours.size()), offered, offered_size);
        *chosen = found;
        return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
    };
    SSL_CTX_set_alpn_select_cb(context_, select, this);
}

namespace {

base::Result<std::shared_ptr<SslContext>> make_context(const SSL_METHOD* method, bool verify) {
    ERR_clear_error();
    SSL_CTX* raw = SSL_CTX_new(method);
    if (!raw) return base::fail(base::Code::kSystem, "TLS: " + ssl_error_text());
    auto context = std::make_shared<SslContext>(raw, verify);
    SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
    // Players and encoders often close without close_notify; the protocols above frame their messages anyway.
    SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // An idle connection keeps no record buffers.
    SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // Reads a record's header and body in one system call.
    SSL_CTX_set_read_ahead(raw, 1);
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    // An encrypted key must not prompt for its password on the terminal.
    SSL_CTX_set_default_passwd_cb(raw, [](char*, int, int, void*) { return 0; });
    return context;
}

}  // namespace
}  // namespace detail

base::Result<std::shared_ptr<TlsContext>> tls_server_context(const std::string& certificate_file,
                                                             const std::string& key_file,
                                                             std::span<const std::string_view> protocols) {
    auto context = TRY(detail::make_context(TLS_server_method(), false));
    if (SSL_CTX_use_certificate_chain_file(context->get(), certificate_file.c_str()) != 1) {
        return base::fail(base::Code::kConfig,
                          fmt::format("certificate {}: {}", certificate_file, detail::ssl_error_text()));
    }
    if (SSL_CTX_use_PrivateKey_file(context->get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        return base::fail(base::Code::kConfig, fmt::format("key {}: {}", key_file, detail::ssl_error_text()));
    }
    if (SSL_CTX_check_private_key(context->get()) != 1) {
        return base::fail(base::Code::kConfig, fmt::format("key {} does not belong to certificate {}: {}", key_file,
                                                           certificate_file, detail::ssl_error_text()));
    }
    context->set_protocols(protocols);
    detail::set_ticket_keys(context->get());
    return context;
}

CertificateInfo describe_certificate(const TlsContext& context) {
    const X509* certificate = SSL_CTX_get0_certificate(static_cast<const detail::SslContext&>(context).get());
    if (!certificate) return {"none", INT64_MAX};
    char subject[256] = "";
    X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof subject);
    tm until{};
    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until);
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    X509_digest(certificate, EVP_sha256(), digest, &size);
    std::string fingerprint;
    for (unsigned i = 0; i < std::min(size, 8u); ++i) fingerprint += fmt::format("{:02x}", digest[i]);
    return {fmt::format("{}, valid until {:04}-{:02}-{:02}, SHA-256 {}", subject, until.tm_year + 1900,
                        until.tm_mon + 1, until.tm_mday, fingerprint),
            timegm(&until)};
}

base::Result<std::shared_ptr<TlsContext>> tls_client_context(bool verify, const std::string& ca_file,
                                                             std::span<const std::string_view> protocols) {
    auto context = TRY(detail::make_context(TLS_client_method(), verify));
    if (verify) {
        SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
        if (!ca_file.empty()) {
            if (SSL_CTX_load_verify_locations(context->get(), ca_file.c_str(), nullptr) != 1)
                return base::fail(base::Code::kConfig,
                                  fmt::format("certificates {}: {}", ca_file, detail::ssl_error_text()));
        } else if (SSL_CTX_set_default_verify_paths(context->get()) != 1) {
            return base::fail(base::Code::kSystem, "the system's trusted certificates: " + detail::ssl_error_text());
        }
    }
    context->offer_protocols(protocols);
    return context;
}

}  // namespace runtime
