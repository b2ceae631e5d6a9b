#include "service/api/service.h"

#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

using net::testing::Answer;
using net::testing::RawClient;
using runtime::testing::ok;
using testing::ApiTest;

class Viewer final : public net::Session {
  public:
    Viewer(net::SessionTable& table, const std::string& id) : Session(table, id, "192.0.2.1") {
        set_type(net::SessionType::kRtmpPlay);
        enter_stream({"v", "live", "s"}, false);
    }
    std::string stream_text() const override { return "v/live/s"; }
    net::Traffic traffic() const override { return {}; }
    void kick(std::string_view) override {}
};

TEST_F(ApiTest, LongListsComeInPiecesAndWhole) {
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 900; ++i) viewers.push_back(std::make_unique<Viewer>(sessions_, fmt::format("v{}", i)));
    for (const int count : {10, 900}) {
        const Answer answer = ask(fmt::format("/api/v1/clients?count={}", count));
        EXPECT_EQ(answer.header("Content-Length"), std::to_string(answer.body.size()));
        EXPECT_EQ(answer.body.size() > 150'000, count == 900) << answer.body.size();
        const Json body = Json::parse(answer.body, nullptr, false);
        ASSERT_TRUE(body.is_object()) << answer.body.substr(0, 200);
        ASSERT_EQ(body["clients"].size(), static_cast<size_t>(count));
        std::set<std::string> ids;
        for (const Json& client : body["clients"]) ids.insert(client["id"]);
        EXPECT_EQ(ids.size(), static_cast<size_t>(count));
        EXPECT_EQ(body["total"], 900);
    }
}

TEST_F(ApiTest, TheOverviewIsMadeOnceForAllCallers) {
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 3; ++i) viewers.push_back(std::make_unique<Viewer>(sessions_, fmt::format("v{}", i)));
    const uint64_t before = service_->overview().made();
    const int64_t began_ms = base::monotonic_ms();
    std::vector<runtime::Task> callers;
    int right = 0;
    for (int i = 0; i < 20; ++i) {
        callers.push_back(runtime::spawn("caller", [&] {
            const Json body = json("/api/v1/overview");
            if (body.is_object() && body["overview"]["players"] == Json({{"rtmp", 3}})) ++right;
        }));
    }
    for (runtime::Task& caller : callers) ASSERT_TRUE(ok(caller.join(runtime::Deadline::in_ms(10'000))));
    EXPECT_EQ(right, 20);
    const uint64_t most = 1 + static_cast<uint64_t>((base::monotonic_ms() - began_ms) / Overview::kFreshMs);
    EXPECT_GE(service_->overview().made() - before, 1u);
    EXPECT_LE(service_->overview().made() - before, most);
}

TEST_F(ApiTest, ProtocolsOfTheOverview) {
    EXPECT_EQ(protocol_of(net::SessionType::kRtmpPlay), "rtmp");
    for (const auto type :
         {net::SessionType::kFmlePublish, net::SessionType::kFlashPublish, net::SessionType::kHaivisionPublish})
        EXPECT_EQ(protocol_of(type), "rtmp");
    EXPECT_EQ(protocol_of(net::SessionType::kRtcPublish), "webrtc");
    EXPECT_EQ(protocol_of(net::SessionType::kFlvPlay), "flv");
    EXPECT_EQ(protocol_of(net::SessionType::kHlsPlay), "hls");
    EXPECT_EQ(protocol_of(net::SessionType::kRtmpForward), "forward");
}

TEST_F(ApiTest, ListsOfClientsAreSearchedAndSorted) {
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 30; ++i) viewers.push_back(std::make_unique<Viewer>(sessions_, fmt::format("v{}x", i)));
    Json body = json("/api/v1/clients?search=V2&count=100");
    EXPECT_EQ(body["total"], 11) << "v2x and v20x to v29x";
    EXPECT_EQ(body["clients"].size(), 11u);
    EXPECT_EQ(json("/api/v1/clients?search=192.0.2.1")["total"], 30);
    EXPECT_EQ(json("/api/v1/clients?search=LIVE/s&start=29")["clients"].size(), 1u);
    EXPECT_EQ(json("/api/v1/clients?stream=vid-none")["total"], 0);
    const std::string id = body["clients"][0]["stream"];
    EXPECT_EQ(json("/api/v1/clients?count=1&stream=" + id)["total"], 30);
    body = json("/api/v1/clients?sort=-alive&start=28&count=5");
    EXPECT_EQ(body["total"], 30);
    EXPECT_EQ(body["clients"].size(), 2u);
    EXPECT_EQ(json("/api/v1/clients?sort=id")["code"], 400);
    viewers.clear();
    EXPECT_EQ(json("/api/v1/clients?search=v2")["total"], 0);
    EXPECT_EQ(json("/api/v1/clients?sort=alive")["total"], 0);
}

TEST_F(ApiTest, ListsWhatThereIs) {
    for (std::string_view path : {"/", "/api", "/api/", "/api/v1", "/api/v1/"}) {
        const Json body = json(path);
        ASSERT_TRUE(body.is_object()) << path;
        EXPECT_EQ(body["code"], 0);
        EXPECT_EQ(body["server"], "origin-1");
        EXPECT_EQ(body["service"], "k3f92a0x");
        EXPECT_EQ(body["pid"], std::to_string(getpid()));
        EXPECT_FALSE(body["urls"].empty()) << path;
    }
    EXPECT_TRUE(json("/api/v1/")["urls"].contains("versions"));
    EXPECT_TRUE(json("/api/v1/")["urls"].contains("debug"));
    EXPECT_EQ(ask("/api/v1/nothing").status, 404);
}

TEST_F(ApiTest, Versions) {
    const Json data = json("/api/v1/versions")["data"];
    EXPECT_EQ(data,
              Json({{"major", 7}, {"minor", 8}, {"revision", 9}, {"version", "7.8.9"}, {"server_version", "1.2.3"}}));
    EXPECT_EQ(ask("/api/v1/versions").header("Access-Control-Allow-Origin"), "*");
}

TEST_F(ApiTest, FeaturesAreThoseOfTheServices) {
    const Json features = json("/api/v1/features")["data"]["features"];
    for (const char* name : {"hls", "srt", "h265", "ssl"}) EXPECT_EQ(features[name], true) << name;
    for (const char* name : {"dvr", "rtc", "exporter", "hds"}) EXPECT_EQ(features[name], false) << name;
}

TEST_F(ApiTest, WhatIsNotThereHasACodeOfSrs) {
    for (const auto& [path, code] : {std::pair("/api/v1/streams/vid-0", 2048), std::pair("/api/v1/clients/0", 2049),
                                     std::pair("/api/v1/vhosts/vid-0", 2014)}) {
        const Answer answer = ask(path);
        EXPECT_EQ(answer.status, 200) << path;
        EXPECT_EQ(Json::parse(answer.body, nullptr, false)["code"], code) << answer.body;
    }
    EXPECT_EQ(Json::parse(ask("/api/v1/clients/0", "", "DELETE").body)["code"], 2049);
}

TEST_F(ApiTest, WhatIsReadIsReadByPostToo) {
    EXPECT_EQ(Json::parse(ask("/api/v1/summaries", "", "POST", "{}").body)["code"], 0);
    EXPECT_EQ(ask("/api/v1/streams/", "", "POST", "x").status, 200);
    EXPECT_EQ(ask("/api/v1/streams/", "", "PUT", "x").status, 405);
    EXPECT_EQ(ask("/api/v1/streams/vid-0/recording", "", "POST", "{").status, 501) << "it has a POST of its own";
    EXPECT_EQ(ask("/healthz", "", "POST", "x").status, 405);
}

TEST_F(ApiTest, ReloadFetchTellsOfTheLastReload) {
    EXPECT_EQ(ask("/api/v1/raw?rpc=reload-fetch").status, 403);
    snapshot_->http_api.raw_api.enabled = true;
    EXPECT_EQ(json("/api/v1/raw?rpc=reload-fetch")["data"],
              Json({{"err", 0}, {"msg", "Success"}, {"state", 0}, {"rid", "0"}}));
    operations_.last_reload.number = 3;
    operations_.last_reload.error = "bad";
    EXPECT_EQ(json("/api/v1/raw?rpc=reload-fetch")["data"],
              Json({{"err", 1023}, {"msg", "bad"}, {"state", 10}, {"rid", "3"}}));
    operations_.last_reload.ok = true;
    EXPECT_EQ(json("/api/v1/raw?rpc=reload-fetch")["data"]["state"], 90);
}

TEST_F(ApiTest, RelaysOfAllServices) {
    EXPECT_EQ(json("/api/v1/relays")["total"], 0);
    using State = RelayedStream::State;
    offers_.relays.push_back([](const RelayVisit& visit) {
        visit(
            {.kind = "ingest", .stream = {"v", "live", "door"}, .server = "rtsp://u:p@h/door", .state = State::kIdle});
    });
    offers_.relays.push_back([](const RelayVisit& visit) {
        for (const char* server : {"a:1935", "b:1935"})
            visit({.kind = "forward", .stream = {"v", "live", "one"}, .server = server, .state = State::kWorks});
        visit({.kind = "forward",
               .stream = {"v", "live", "two"},
               .server = "a:1935",
               .state = State::kFails,
               .problem = "refused",
               .attempts = 3,
               .bytes = 0});
    });
    Json answer = json("/api/v1/relays?search=TWO");
    EXPECT_EQ(answer["total"], 1);
    EXPECT_EQ(answer["failing"], 1);
    EXPECT_EQ(answer["relays"], Json::parse(R"([
        {"kind": "forward", "vhost": "v", "app": "live", "stream": "two", "server": "a:1935", "state": "fails",
         "problem": "refused", "attempts": 3, "bytes": 0}])"));
    answer = json("/api/v1/relays?kind=ingest");
    EXPECT_EQ(answer["total"], 1);
    EXPECT_EQ(answer["failing"], 1) << "of all, whatever is listed";
    EXPECT_EQ(answer["relays"][0]["server"], "rtsp://***@h/door");
    EXPECT_EQ(answer["relays"][0]["state"], "idle");
    answer = json("/api/v1/relays?search=a:1935&start=1&count=1");
    EXPECT_EQ(answer["total"], 2);
    EXPECT_EQ(answer["relays"].size(), 1u);
    EXPECT_EQ(ask("/api/v1/relays?kind=none").status, 400);
}

TEST_F(ApiTest, WhatAReloadWouldChange) {
    EXPECT_EQ(ask("/api/v1/config/changes").status, 503) << "the server is still starting";
    net::ReloadReport report;
    operations_.check_reload = [&report]() -> base::Result<net::ReloadReport> { return report; };
    report.ok = true;
    report.problems = {"a.conf:3: warning: w"};
    report.changes = {{"", "rtmp/listen", "1", "rtmp://u:p@h/?token=x", false}, {"b", "", "not there", "there", true}};
    Json answer = json("/api/v1/config/changes");
    EXPECT_EQ(answer["ok"], true);
    EXPECT_EQ(answer["may_reload"], false);
    EXPECT_EQ(answer["problems"], Json({"a.conf:3: warning: w"}));
    EXPECT_EQ(answer["changes"], Json::parse(R"([
        {"vhost": "", "directive": "rtmp/listen", "before": "1", "after": "rtmp://***@h/?***", "apply": "restart"},
        {"vhost": "b", "directive": "", "before": "not there", "after": "there", "apply": "live"}])"));
    EXPECT_EQ(answer["last_reload"], nullptr);
    snapshot_->http_api.raw_api = {.enabled = true, .allow_reload = true};
    operations_.last_reload.number = 3;
    report.ok = false;
    report.error = "a.conf has 1 errors";
    answer = json("/api/v1/config/changes");
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["error"], "a.conf has 1 errors");
    EXPECT_EQ(answer["code"], 0) << "the question was answered";
    EXPECT_EQ(answer["may_reload"], true);
    EXPECT_EQ(answer["last_reload"]["number"], 3);
    operations_.check_reload = []() -> base::Result<net::ReloadReport> {
        return base::fail(base::Code::kClosed, "the server ends");
    };
    EXPECT_EQ(ask("/api/v1/config/changes").status, 503);
    EXPECT_EQ(ask("/api/v1/config/changes", "X-Forwarded-For: 192.0.2.1\r\n").status, 403);
}

TEST_F(ApiTest, Jsonp) {
    const Answer script = ask("/api/v1/versions?callback=angular.callbacks._0");
    EXPECT_EQ(script.header("Content-Type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(script.header("X-Content-Type-Options"), "nosniff");
    ASSERT_TRUE(script.body.starts_with("/**/angular.callbacks._0({") && script.body.ends_with("});\n")) << script.body;
    for (const char* bad : {"", "a(", "alert%281%29", "1a", ".a", "a..b", "a.", "a%20b", "%3Cscript%3E", "a%3Bb"}) {
        const Answer answer = ask(fmt::format("/api/v1/versions?callback={}", bad));
        EXPECT_EQ(answer.status, 400) << bad;
        EXPECT_EQ(answer.header("Content-Type"), "application/json") << bad;
    }
    EXPECT_EQ(ask("/api/v1/versions?callback=" + std::string(129, 'a')).status, 400);
    // The error's code reaches the page.
    const Answer missing = ask("/api/v1/streams/vid-0?callback=f");
    EXPECT_EQ(missing.status, 200);
    EXPECT_NE(missing.body.find("2048"), std::string::npos);
    EXPECT_EQ(ask("/api/v1/summaries?callback=f", "", "POST", "x").header("Content-Type"), "application/json");
    // A long list is sent in pieces.
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 900; ++i) viewers.push_back(std::make_unique<Viewer>(sessions_, fmt::format("v{}", i)));
    const Answer list = ask("/api/v1/clients?count=900&callback=f");
    EXPECT_EQ(list.header("Content-Length"), std::to_string(list.body.size()));
    ASSERT_TRUE(list.body.starts_with("/**/f({") && list.body.ends_with("});\n"));
    EXPECT_EQ(Json::parse(list.body.substr(6, list.body.size() - 9), nullptr, false)["clients"].size(), 900u);
}

TEST_F(ApiTest, JsonpReadsAndDeletesForPagesThatMay) {
    const auto code = [this](std::string_view query, std::string_view fields = {}) {
        const std::string body = ask(fmt::format("/api/v1/clients/0?callback=f{}", query), fields).body;
        return Json::parse(body.substr(6, body.size() - 9), nullptr, false)["code"].get<int>();
    };
    EXPECT_EQ(code("&method=DELETE"), 2049);
    EXPECT_EQ(code("&method=DELETE", "Sec-Fetch-Site: same-site\r\nUser-Agent: Mozilla/5.0\r\n"), 2049);
    EXPECT_EQ(code("&method=DELETE", "Referer: http://127.0.0.1:8080/console\r\n"), 2049);
    EXPECT_EQ(code("&method=DELETE", "Sec-Fetch-Site: cross-site\r\n"), 403);
    EXPECT_EQ(code("&method=DELETE", "Referer: http://evil.example/\r\n"), 403);
    EXPECT_EQ(code("&method=DELETE", "User-Agent: Mozilla/5.0\r\n"), 403) << "a browser that sends no Sec-Fetch-Site";
    EXPECT_EQ(code("&method=DELETE", "X-Forwarded-For: 192.0.2.1\r\n"), 403) << "not allowed to change";
    EXPECT_EQ(code("&method=PUT"), 400);
    EXPECT_EQ(code("", "Sec-Fetch-Site: cross-site\r\n"), 2049) << "all pages may read";
    EXPECT_NE(ask("/api/v1/config?callback=f").body.find("not by callback"), std::string::npos);
    EXPECT_NE(ask("/api/v1/summaries?callback=f&method=DELETE").body.find("nothing to delete"), std::string::npos);
    // Refused where the browser adds credentials, and where pages of other sites are not allowed.
    snapshot_->http_api.crossdomain = false;
    EXPECT_EQ(code("", "Sec-Fetch-Site: cross-site\r\n"), 403);
    EXPECT_EQ(code("", "Sec-Fetch-Site: same-site\r\n"), 2049);
    snapshot_->http_api.crossdomain = true;
    snapshot_->http_api.auth = {true, "admin", "secret", {}, {}};
    const std::string password = "Authorization: Basic YWRtaW46c2VjcmV0\r\n";
    EXPECT_EQ(code("", password + "Sec-Fetch-Site: cross-site\r\n"), 403);
    EXPECT_EQ(code("", password + "Sec-Fetch-Site: same-site\r\n"), 2049);
    EXPECT_EQ(ask("/api/v1/clients/0?callback=f").status, 401) << "the browser asks for a password";
}

TEST_F(ApiTest, CoroutinesSayWhatTheyWaitFor) {
    auto task = runtime::spawn("waits-in-the-test", [] { static_cast<void>(runtime::sleep_ms(100'000)); });
    const Json body = json("/api/v1/debug/coroutines");
    ASSERT_TRUE(body["coroutines"].is_array());
    EXPECT_EQ(body["total"], body["coroutines"].size());
    bool found = false, asks = false;
    for (const Json& one : body["coroutines"]) {
        if (one["name"] == "waits-in-the-test") {
            found = true;
            EXPECT_EQ(one["waits_for"], "a timer");
            EXPECT_GT(one["left_ms"], 1000);
            EXPECT_GT(one["stack_bytes"], 0);
            EXPECT_NE(one["calls"].dump().find("runtime::sleep_ms"), std::string::npos) << one;
        }
        if (one.contains("client")) asks = one["client"]["stream"] == "/api/v1/debug/coroutines";
    }
    EXPECT_TRUE(found) << body;
    EXPECT_TRUE(asks) << body;
    const Answer text = ask("/api/v1/debug/coroutines?format=text&calls=off");
    EXPECT_NE(text.body.find("waits-in-the-test ["), std::string::npos) << text.body;
    EXPECT_EQ(text.body.find("runtime::sleep_ms"), std::string::npos) << text.body;
    task.cancel_and_join();
}

TEST_F(ApiTest, ProfileIsOneAtATimeAndEndsWhenTheClientLeaves) {
    EXPECT_EQ(ask("/api/v1/debug/pprof/profile?seconds=0").status, 400);
    EXPECT_EQ(ask("/api/v1/debug/pprof/profile?seconds=1e3").status, 400);
    {
        RawClient first(service_->server().port());
        first.send("GET /api/v1/debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        ASSERT_TRUE(ok(runtime::sleep_ms(100)));
        const Answer second = ask("/api/v1/debug/pprof/profile?seconds=1");
        EXPECT_EQ(second.status, 409) << second.body;
    }
    Answer later;
    for (int i = 0; i < 50 && later.status != 200; ++i) {
        ASSERT_TRUE(ok(runtime::sleep_ms(100)));
        later = ask("/api/v1/debug/pprof/profile?seconds=1");
    }
    ASSERT_EQ(later.status, 200) << later.body;
    const auto* words = reinterpret_cast<const uintptr_t*>(later.body.data());
    ASSERT_GT(later.body.size(), 8 * sizeof(uintptr_t));
    EXPECT_EQ(words[0], 0u);
    EXPECT_EQ(words[1], 3u);
}

TEST_F(ApiTest, WhatPprofAsksFor) {
    EXPECT_TRUE(ask("/api/v1/debug/pprof/symbol").body.starts_with("num_symbols: "));
    const auto here = reinterpret_cast<uintptr_t>(&symbolise);
    const Answer named = ask("/api/v1/debug/pprof/symbol", "", "POST", fmt::format("0x{:x}+nonsense+0x10", here));
    EXPECT_EQ(named.status, 200);
    EXPECT_TRUE(named.body.starts_with(fmt::format("0x{:x}\tservice::api::symbolise", here))) << named.body;
    EXPECT_TRUE(named.body.ends_with("0x10\t0x10\n")) << named.body;
    EXPECT_NE(ask("/api/v1/debug/pprof/cmdline").body.find("service_api"), std::string::npos);
}

TEST_F(ApiTest, DebugIsOffUnlessAskedFor) {
    snapshot_->http_api.debug = false;
    EXPECT_EQ(ask("/api/v1/debug/coroutines").status, 404);
    EXPECT_EQ(ask("/api/v1/debug/pprof/profile").status, 404);
    EXPECT_EQ(ask("/api/v1/versions").status, 200);
}

TEST_F(ApiTest, Auth) {
    snapshot_->http_api.auth = {true, "admin", "secret"};
    const Answer refused = ask("/api/v1/versions");
    EXPECT_EQ(refused.status, 401);
    EXPECT_TRUE(refused.header("WWW-Authenticate").starts_with("Basic "));
    EXPECT_EQ(ask("/api/v1/debug/coroutines").status, 401);
    EXPECT_EQ(ask("/api/v1/versions", "Authorization: Basic YWRtaW46c2VjcmV0\r\n").status, 200);
    EXPECT_EQ(ask("/api/v1/debug/coroutines", "Authorization: basic YWRtaW46c2VjcmV0\r\n").status, 200);
    EXPECT_EQ(ask("/api/v1/versions", "Authorization: Basic YWRtaW46c2VjcmV1\r\n").status, 401);
    EXPECT_EQ(ask("/api/v1/versions", "Authorization: Basic \r\n").status, 401);
    EXPECT_EQ(ask("/api/v1/versions", "Authorization: Bearer YWRtaW46c2VjcmV0\r\n").status, 401);
}

}  // namespace
}  // namespace service::api
