#pragma once
// For tests of the API: a service whose parts are empty, on a port of this machine.

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "net/http/http_testing.h"
#include "runtime/loop/testing.h"
#include "service/api/service.h"

namespace service::api::testing {

using net::testing::Answer;
using net::testing::RawClient;
using runtime::testing::ok;

class ApiTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->http_api.enabled = true;
        snapshot_->http_api.listen = {{"127.0.0.1", 0}};
        snapshot_->http_api.debug = true;
        service_ = std::make_unique<Service>(snapshot_, parts_);
        service_->connect();
        ASSERT_TRUE(ok(service_->start()));
    }
    void TearDown() override {
        service_->stop();
        service_.reset();
    }
    Answer ask(std::string_view path, std::string_view fields = {}, std::string_view method = "GET",
               std::string_view body = {}) {
        RawClient client(service_->server().port());
        std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}", method, path, fields);
        if (!body.empty()) request += fmt::format("Content-Length: {}\r\n", body.size());
        client.send(request + "\r\n" + std::string(body));
        return client.read(false, 20'000);
    }
    Json json(std::string_view path, std::string_view fields = {}) {
        return Json::parse(ask(path, fields).body, nullptr, false);
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;
    net::FileAccess files_{gate_};
    net::HttpRouter http_router_, router_;
    net::HttpClient http_client_;
    net::Operations operations_;
    net::ApiTable others_;
    Offers offers_;
    live::Events events_;
    const std::vector<std::string_view> features_{"hls", "srt"};
    const Identity identity_{{"SRS/1.2.3", "1.2.3", "7.8.9", "2026-01-02 03:04:05", 7, "c++"},
                             "origin-1",
                             "k3f92a0x",
                             std::to_string(getpid())};
    const SharedParts parts_{identity_,    features_, sessions_, gate_,        files_,      registry_, events_,
                             http_router_, router_,   others_,   http_client_, operations_, offers_};
    std::unique_ptr<Service> service_;
};

}  // namespace service::api::testing
