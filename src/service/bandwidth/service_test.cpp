#include "service/bandwidth/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "runtime/loop/testing.h"
#include "service/bandwidth/config.h"

namespace service::bandwidth {
namespace {

using net::testing::Answer;
using net::testing::RawClient;
using runtime::testing::ok;

class BandwidthTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        next();
        service_ = std::make_unique<Service>(snapshot_, identity_);
        for (net::HttpRoute& route : service_->routes()) router_.add(std::move(route));
        ASSERT_TRUE(ok(server_.listen({"127.0.0.1", 0})));
    }
    void TearDown() override { server_.stop(); }
    ServerConfig& next() {
        auto snapshot = snapshot_ ? std::make_shared<config::Snapshot>(*snapshot_)
                                  : std::make_shared<config::Snapshot>(*config::default_snapshot());
        auto& config = snapshot->get<ServerConfig>();
        snapshot->address_limits.exempt.clear();  // loopback is, otherwise
        if (!snapshot_) config = {.enabled = true, .max_size = 3, .of_address = 2, .per_minute = 100};
        snapshot_ = std::move(snapshot);
        return config;
    }
    static std::string request(std::string_view method, std::string_view path, std::string_view fields = "",
                               std::string_view body = "") {
        return fmt::format("{} /api/v1/bandwidth{} HTTP/1.1\r\nHost: a.test\r\n{}Content-Length: {}\r\n\r\n{}", method,
                           path, fields, body.size(), body);
    }
    Answer ask(std::string_view method, std::string_view path, std::string_view fields = "",
               std::string_view body = "") {
        RawClient client(server_.port());
        client.send(request(method, path, fields, body));
        return client.read(method == "HEAD");
    }
    static base::Json json(const Answer& answer) { return base::parse_json(answer.body); }
    std::string begin() {
        const Answer answer = ask("POST", "");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return "?check=" + json(answer).value("check", "");
    }
    std::string metrics() {
        prometheus::Text text;
        service_->write_metrics(text);
        return text.take();
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    const Identity identity_{{}, "srv", "svc", "1"};
    net::SessionTable sessions_;
    net::HttpRouter router_;
    std::unique_ptr<Service> service_;
    net::HttpServer server_{sessions_, router_, net::HttpServerOptions{}};
};

TEST_F(BandwidthTest, SendsUntilTheCheckHasItsBytes) {
    const std::string check = begin();
    const Answer answer = ask("GET", "/bytes" + check);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "application/octet-stream");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.body.size(), 3'000'000u);
    size_t counts[256] = {};
    for (const char byte : answer.body) ++counts[static_cast<uint8_t>(byte)];
    for (const size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 3e6 / 256, 3e6 / 256 / 5) << "random";
    EXPECT_EQ(json(ask("GET", check)).value("sent", 0), 3'000'000);
    EXPECT_EQ(ask("GET", "/bytes" + check).body, "") << "it has sent them";
}

TEST_F(BandwidthTest, CountsWhatComesAndKeepsNothing) {
    const std::string check = begin();
    const Answer answer = ask("POST", "/bytes" + check, "", std::string(1'000'000, 'x'));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json(answer).value("received", 0), 1'000'000);
    EXPECT_EQ(ask("POST", "/bytes" + check, "", std::string(Service::kMaxBody + 1, 'x')).status, 413);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("POST", "/bytes" + check, "", std::string(1'000'000, 'x')).status, 200);
    EXPECT_EQ(ask("POST", "/bytes" + check, "", "x").status, 413) << "3 MB have come";
    EXPECT_EQ(ask("POST", "/bytes?check=wrong", "", "x").status, 404);
    EXPECT_EQ(ask("POST", "/bytes?check=wrong").status, 404);
    EXPECT_NE(metrics().find("srs_bandwidth_check_bytes_total{direction=\"up\"} 3000000\n"), std::string::npos)
        << metrics();
}

TEST_F(BandwidthTest, OnlyPagesOfThisServerBeginOne) {
    struct {
        const char* fields;
        int status;
    } const table[] = {
        {"", 200},
        {"Origin: http://a.test\r\n", 200},
        {"User-Agent: Mozilla/5.0\r\nSec-Fetch-Site: same-origin\r\nOrigin: https://public.name\r\n", 200},
        {"Origin: http://b.test\r\n", 403},
        {"User-Agent: Mozilla/5.0\r\n", 403},
        {"Referer: http://b.test/page\r\n", 403},
        {"Sec-Fetch-Site: cross-site\r\n", 403},
        {"Sec-Fetch-Site: same-site\r\nOrigin: http://a.test\r\n", 403},
    };
    for (const auto& row : table) {
        const Answer answer = ask("POST", "", row.fields);
        EXPECT_EQ(answer.status, row.status) << row.fields;
        EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "") << row.fields;
        if (answer.status == 200) ask("DELETE", "?check=" + json(answer).value("check", ""));
    }
}

TEST_F(BandwidthTest, ACheckHasAnEnd) {
    const std::string check = begin(), other = begin();
    EXPECT_EQ(ask("POST", "").status, 429) << "of_address is 2";
    EXPECT_EQ(ask("POST", "").header("Retry-After"), "15");
    EXPECT_EQ(ask("DELETE", check).status, 200);
    for (const std::string method : {"GET", "DELETE"}) EXPECT_EQ(ask(method, check).status, 404) << method;
    EXPECT_EQ(ask("GET", "/bytes" + check).status, 404);
    EXPECT_EQ(ask("GET", other).status, 200);
    EXPECT_NE(metrics().find("srs_bandwidth_checks 1\n"), std::string::npos) << metrics();
    begin();
}

TEST_F(BandwidthTest, TransfersAtOnceAreBoundedAndEndWithTheCheck) {
    next().max_size = 1000;
    next().max_kbps = 1000;
    service_->reload(snapshot_);
    const std::string check = begin();
    std::vector<std::unique_ptr<RawClient>> clients;
    for (size_t i = 0; i < Check::kMaxTransfers; ++i) {
        clients.push_back(std::make_unique<RawClient>(server_.port()));
        clients.back()->send(request("GET", "/bytes" + check));
        EXPECT_TRUE(clients.back()->receive()) << "the head";
    }
    EXPECT_EQ(ask("GET", "/bytes" + check).status, 429);
    clients.pop_back();
    for (int i = 0; i < 100 && ask("HEAD", "/bytes" + check).status == 429; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(ask("HEAD", "/bytes" + check).status, 200) << "one has left";
    ask("DELETE", check);
    for (const auto& client : clients) EXPECT_TRUE(client->read().complete) << "the others have ended";
}

TEST_F(BandwidthTest, SwitchedOff) {
    const std::string check = begin();
    next().enabled = false;
    service_->reload(snapshot_);
    EXPECT_EQ(ask("POST", "").status, 404);
    EXPECT_EQ(ask("GET", "/bytes" + check).status, 404);
    EXPECT_EQ(ask("POST", "/bytes" + check, "", "x").status, 404);
}

}  // namespace
}  // namespace service::bandwidth
