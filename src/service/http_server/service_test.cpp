#include "service/http_server/service.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/http/http_testing.h"
#include "runtime/loop/testing.h"

namespace service::http_server {
namespace {

namespace fs = std::filesystem;
using net::testing::RawClient;
using runtime::testing::ok;

class HttpServerServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/http_server_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = name;
        put("html/index.html", "front");
        put("html/hls/a.m3u8", "of the server");
        put("vhost/a.m3u8", "of the vhost");
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->http_server.enabled = true;
        snapshot_->http_server.listen = {{"127.0.0.1", 0}};
        snapshot_->http_server.dir = base_ / "html";
        service_ = std::make_unique<Service>(snapshot_, sessions_, router_, api_, access_, "SRS/test");
    }
    void TearDown() override {
        service_->stop();
        EXPECT_TRUE(service_->idle());
        service_.reset();
        fs::remove_all(base_);
    }
    void put(const fs::path& path, std::string_view text) {
        fs::create_directories((base_ / path).parent_path());
        std::ofstream(base_ / path, std::ios::binary) << text;
    }
    net::testing::Answer get(std::string_view path) {
        RawClient client(service_->server().port());
        client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return client.read();
    }
    void make_certificate() {
        EVP_PKEY* pair = EVP_RSA_gen(2048);
        X509* x509 = X509_new();
        X509_gmtime_adj(X509_getm_notBefore(x509), 0);
        X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
        X509_set_pubkey(x509, pair);
        X509_sign(x509, pair, EVP_sha256());
        FILE* file = std::fopen((base_ / "crt").c_str(), "w");
        PEM_write_X509(file, x509);
        std::fclose(file);
        file = std::fopen((base_ / "key").c_str(), "w");
        PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
        X509_free(x509);
        EVP_PKEY_free(pair);
    }

    fs::path base_;
    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    net::HttpRouter router_, api_;
    net::Gate gate_;
    net::FileAccess access_{gate_};
    std::unique_ptr<Service> service_;
};

TEST_F(HttpServerServiceTest, Files) {
    ASSERT_TRUE(ok(service_->start()));
    auto front = get("/");
    EXPECT_EQ(front.body, "front");
    EXPECT_EQ(front.header("Server"), "SRS/test");
    EXPECT_EQ(get("/hls/a.m3u8").body, "of the server");
    config::VhostHttpStatic& files = snapshot_->vhosts.front().http_static;
    files = {true, "[vhost]/hls", base_ / "vhost"};
    EXPECT_EQ(get("/hls/a.m3u8").body, "of the vhost");
    EXPECT_EQ(get("/hlsx/a.m3u8").status, 404);
    EXPECT_EQ(get("/index.html").body, "front");
    files.mount = "[vhost]/";
    EXPECT_EQ(get("/a.m3u8").body, "of the vhost");
    files.mount = "other.example/";
    EXPECT_EQ(get("/a.m3u8").status, 404);
}

TEST_F(HttpServerServiceTest, WhatGrowsIsNotServed) {
    ASSERT_TRUE(ok(service_->start()));
    for (const char* name : {"a.flv.tmp", "a.m3u8.tmp", "a.m3u8.12.tmp"}) {
        put(fs::path("html") / name, "growing");
        EXPECT_EQ(get(std::string("/") + name).status, 404) << name;
        EXPECT_EQ(get(std::string("/") + name + "/").status, 404) << name;
    }
    EXPECT_EQ(get("/a.flv.%74mp").status, 404);
}

TEST_F(HttpServerServiceTest, Reloads) {
    ASSERT_TRUE(ok(service_->start()));
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->http_server.crossdomain = false;
    next->http_server.dir = base_ / "vhost";
    EXPECT_EQ(get("/").header("Access-Control-Allow-Origin"), "*");
    service_->reload(next);
    EXPECT_EQ(get("/a.m3u8").body, "of the vhost");
    EXPECT_EQ(get("/a.m3u8").header("Access-Control-Allow-Origin"), "");
}

TEST_F(HttpServerServiceTest, Https) {
    make_certificate();
    snapshot_->http_server.https = {true, {{"127.0.0.1", 0}}, base_ / "key", base_ / "crt"};
    ASSERT_TRUE(ok(service_->start()));
    auto soon = runtime::Deadline::in_ms(5000);
    auto plain = runtime::connect_tcp("127.0.0.1", service_->server().port(1), soon);
    ASSERT_TRUE(ok(plain));
    auto context = runtime::tls_client_context(false);
    ASSERT_TRUE(ok(context));
    auto stream = runtime::tls_connect(*std::move(plain), *context, "localhost", soon);
    ASSERT_TRUE(ok(stream));
    auto request = base::Slice::copy("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ASSERT_TRUE(ok((*stream)->write(request, soon)));
    std::string answer;
    while (true) {
        uint8_t bytes[4096];
        auto n = (*stream)->read(bytes, soon);
        ASSERT_TRUE(ok(n));
        if (*n == 0) break;
        answer.append(reinterpret_cast<char*>(bytes), *n);
    }
    EXPECT_TRUE(answer.ends_with("\r\n\r\nfront")) << answer;

    // A plain HTTP client on the TLS port is disconnected without affecting others.
    RawClient confused(service_->server().port(1));
    confused.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(confused.sees_close());
    EXPECT_EQ(get("/").status, 200);
}

TEST_F(HttpServerServiceTest, StartsOnlyWithWhatItNeeds) {
    snapshot_->http_server.https = {true, {{"127.0.0.1", 0}}, base_ / "no.key", base_ / "no.crt"};
    auto started = service_->start();
    ASSERT_FALSE(started);
    EXPECT_TRUE(started.error().text().starts_with("http_server/https")) << started.error().text();
    snapshot_->http_server.enabled = false;
    EXPECT_TRUE(ok(service_->start()));
}

}  // namespace
}  // namespace service::http_server
