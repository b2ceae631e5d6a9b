#pragma once
// For tests with TLS: a certificate for the time of the test, and two streams that have shaken hands.

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/tls.h"

namespace runtime::testing {

// A key and a self-signed certificate, in a temporary directory.
struct CertificateFiles {
    std::string directory, certificate, key;
    CertificateFiles() {
        char path[] = "/tmp/tls_test.XXXXXX";
        directory = mkdtemp(path);
        certificate = directory + "/server.crt";
        key = directory + "/server.key";
        EVP_PKEY* pair = EVP_EC_gen("P-256");
        X509* x509 = X509_new();
        X509_set_version(x509, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
        X509_gmtime_adj(X509_getm_notBefore(x509), 0);
        X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
        X509_set_pubkey(x509, pair);
        X509_NAME* name = X509_get_subject_name(x509);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1,
                                   -1, 0);
        X509_set_issuer_name(x509, name);
        X509_sign(x509, pair, EVP_sha256());
        FILE* file = std::fopen(certificate.c_str(), "w");
        PEM_write_X509(file, x509);
        std::fclose(file);
        file = std::fopen(key.c_str(), "w");
        PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
        X509_free(x509);
        EVP_PKEY_free(pair);
    }
    ~CertificateFiles() {
        unlink(certificate.c_str());
        unlink(key.c_str());
        rmdir(directory.c_str());
    }
};

inline const CertificateFiles& certificate_files() {
    static CertificateFiles instance;
    return instance;
}

inline std::shared_ptr<TlsContext> tls_test_context() {
    auto context = tls_server_context(certificate_files().certificate, certificate_files().key);
    EXPECT_TRUE(ok(context));
    return *context;
}

struct StreamPair {
    std::unique_ptr<ByteStream> client, server;
};

// Both ends of one connection. Yields.
inline StreamPair with_tls(StreamPair plain) {
    StreamPair secure;
    auto acceptor = spawn("acceptor", [&] {
        auto server = tls_accept(std::move(plain.server), tls_test_context(), soon());
        ASSERT_TRUE(ok(server));
        secure.server = *std::move(server);
    });
    auto client = tls_connect(std::move(plain.client), *tls_client_context(false), "localhost", soon());
    EXPECT_TRUE(ok(client));
    if (client) secure.client = *std::move(client);
    EXPECT_TRUE(ok(acceptor.join(soon())));
    return secure;
}

}  // namespace runtime::testing
