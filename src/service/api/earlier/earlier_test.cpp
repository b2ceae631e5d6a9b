#include "service/api/earlier/earlier.h"

#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"
#include "runtime/loop/simulated_time_testing.h"
#include "service/api/earlier/answers.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

TEST(EarlierStreams, AreReadAsWritten) {
    const EarlierStreams all = {{{"__defaultVhost__", "live", "a b%\xff"}, {3, 500, true, VerdictLevel::kSick}},
                                {{"v.com", "a/b", "s"}, {0, 0, false, VerdictLevel::kFine}}};
    Json list = Json::array();
    for (const auto& [key, stream] : all) list.push_back(earlier_stream_json(key, stream));
    EarlierStreams read;
    size_t total = 0;
    const std::string text = base::to_text(Json{{"total", 7}, {"streams", list}});
    EXPECT_TRUE(read_earlier_streams(Json::parse(text, nullptr, false), read, total));
    EXPECT_EQ(read, all);
    EXPECT_EQ(total, 7u);
}

TEST(EarlierStreams, BadOnesAreRefused) {
    const std::string many = R"({"total":1,"streams":[)" + [] {
        std::string text = R"(["v","a","s",1,1,1,0])";
        for (size_t i = 0; i < Earlier::kPieceEntries; ++i) text += R"(,["v","a","s",1,1,1,0])";
        return text;
    }() + "]}";
    const std::string_view all[] = {"",
                                    "[]",
                                    "{}",
                                    R"({"streams":[]})",
                                    R"({"total":-1,"streams":[]})",
                                    R"({"total":1,"streams":7})",
                                    R"({"total":1,"streams":[["v","a","s",1,1,0]]})",
                                    R"({"total":1,"streams":[["v","a",7,1,1,1,0]]})",
                                    R"({"total":1,"streams":[["v","a","%zz",1,1,1,0]]})",
                                    many};
    for (const std::string_view text : all) {
        EarlierStreams streams;
        size_t total = 0;
        EXPECT_FALSE(read_earlier_streams(Json::parse(text, nullptr, false), streams, total)) << text.substr(0, 80);
    }
}

TEST(EarlierCounts, AreAdded) {
    Json mine = {
        {"clients", 2u}, {"send_bytes", 10u}, {"recv_bytes", 1u}, {"kbps", {{"recv_30s", 5u}, {"send_30s", 6u}}}};
    add_counts(mine, {{"clients", 3u}, {"send_bytes", "x"}, {"kbps", {{"recv_30s", 1u}, {"send_30s", 1.5}}}});
    EXPECT_EQ(mine, (Json{{"clients", 5u},
                          {"send_bytes", 10u},
                          {"recv_bytes", 1u},
                          {"kbps", {{"recv_30s", 6u}, {"send_30s", 7.5}}}}));
    add_counts(mine, Json::array());
    EXPECT_EQ(mine["clients"], 5u);
}

// Answers from a table, of which "*" is for all else; nothing there: it stands still.
struct FakeOther final : OtherProcess {
    std::map<std::string, std::string> answers;
    std::vector<std::string> asked;
    http::Headers asked_fields, fields;  // of the last request, and of answers
    int status = 200;
    base::Code failure = base::Code::kTimeout;
    bool is_gone = false, ended = false;
    ProcessFigures facts{.pid = 4711, .version = "1.2", .connections = 5, .publishers = 2, .players = 3};

    bool is_there() const override { return !is_gone; }
    bool is_replaced() const override { return !is_gone; }
    bool publishes(const base::StreamKey&) const override { return false; }
    base::Result<std::unique_ptr<runtime::ByteStream>> connect() override {
        return base::fail(base::Code::kClosed, "no");
    }
    base::Result<net::HttpAnswer> ask(OtherRequest request) override {
        asked.push_back(fmt::format("{} {}", http::method_name(request.method), request.target));
        asked_fields = request.headers;
        for (const auto& [start, body] : answers)
            if (request.target.starts_with(start))
                return net::HttpAnswer{.status = status, .headers = fields, .body = body};
        return base::fail(failure, failure == base::Code::kLimit ? "the answer exceeds 5 bytes" : "it stands still");
    }
    const ProcessFigures* figures() const override { return is_gone ? nullptr : &facts; }
    net::Traffic earlier_traffic() const override { return {100, 200}; }
    int64_t since_ms() const override { return 1'000; }
    base::Result<void> end_other() override {
        ended = true;
        return {};
    }
};

class EarlierTest : public testing::ApiTest {
  protected:
    void SetUp() override {
        offers_.other_process = &other_;
        ApiTest::SetUp();
    }
    FakeOther other_;
};

constexpr const char* kTwoClients =
    R"({"code":0,"clients":[{"id":"a","alive":7,"trouble":1,"kbps":{"send_30s":5}},{"id":"b","alive":3}],"total":2})";

TEST_F(EarlierTest, ClientsOfBothAreListed) {
    other_.answers["/api/v1/clients?"] = kTwoClients;
    const Json all = json("/api/v1/clients");
    EXPECT_EQ(all["total"], 2);
    ASSERT_EQ(all["clients"].size(), 2u);
    EXPECT_EQ(all["clients"][0]["id"], "a");
    EXPECT_FALSE(all["clients"][0].contains("trouble"));
    const Json sorted = json("/api/v1/clients?sort=alive&count=2");
    ASSERT_EQ(sorted["clients"].size(), 2u) << sorted;
    EXPECT_EQ(sorted["clients"][0]["id"], "b");
    EXPECT_EQ(sorted["total"], 2);
}

TEST_F(EarlierTest, OneThatStandsStillIsLeftOut) {
    const Json clients = json("/api/v1/clients"), streams = json("/api/v1/streams"), vhosts = json("/api/v1/vhosts");
    EXPECT_EQ(clients["total"], 0);
    EXPECT_EQ(streams["total"], 0);
    EXPECT_EQ(vhosts["total"], 1);
    EXPECT_EQ(ask("/api/v1/clients/a", {}, "DELETE").status, 503);
}

TEST_F(EarlierTest, StreamsOfTheOtherAreListed) {
    other_.answers["/streams?"] = R"({"total":1,"streams":[["__defaultVhost__","live","s",3,500,1,0]]})";
    other_.answers["/api/v1/streams/"] = R"({"code":0,"stream":{"id":"x","name":"s","clients":3}})";
    const Json streams = json("/api/v1/streams");
    ASSERT_EQ(streams["streams"].size(), 1u);
    EXPECT_EQ(streams["streams"][0]["clients"], 3);
    EXPECT_EQ(json("/api/v1/vhosts")["vhosts"][0]["streams"], 1);
    const std::string id = net::stream_id({"__defaultVhost__", "live", "s"});
    EXPECT_EQ(json("/api/v1/streams/" + id)["stream"]["name"], "s");
    EXPECT_EQ(json("/api/v1/streams/no")["code"], 2048);
}

TEST_F(EarlierTest, AKickOfItsClientGoesToIt) {
    std::string about;
    offers_.audit = [&](const net::AuditEvent& event) { about = event.what + ": " + event.about + " " + event.result; };
    other_.answers["/api/v1/clients/"] = R"({"code":0,"client":{"type":"rtmp-play","url":"/live/s","ip":"192.0.2.7"}})";
    EXPECT_EQ(ask("/api/v1/clients/abc", {}, "DELETE").status, 200);
    EXPECT_EQ(other_.asked.back(), "DELETE /api/v1/clients/abc");
    EXPECT_EQ(about, "DELETE /api/v1/clients/abc: rtmp-play /live/s 192.0.2.7 200");
    other_.is_gone = true;
    EXPECT_EQ(json("/api/v1/clients/abc")["code"], 2049);
}

TEST_F(EarlierTest, ItIsShownAndEnded) {
    const Json shown = json("/api/v1/upgrade")["earlier_process"];
    EXPECT_EQ(shown["pid"], 4711);
    EXPECT_EQ(shown["players"], 3);
    EXPECT_EQ(shown["since_ms"], 1'000);
    EXPECT_EQ(json("/api/v1/summaries")["data"]["earlier_process"], shown);
    EXPECT_EQ(ask("/api/v1/upgrade", {}, "DELETE").status, 200);
    EXPECT_TRUE(other_.ended);
    other_.is_gone = true;
    EXPECT_TRUE(json("/api/v1/upgrade")["earlier_process"].is_null());
    EXPECT_GE(json("/api/v1/summaries")["data"]["system"]["srs_send_bytes"], 200) << "what it has sent stays counted";
}

TEST_F(EarlierTest, SessionsOfBothAreOneList) {
    other_.answers["/api/v1/sessions?"] =
        R"({"total":3,"complete":true,"sessions":[{"id":"p","started_ms":5,"ended_ms":null},)"
        R"({"id":"q","started_ms":1,"ended_ms":9},{"id":"r","started_ms":1,"ended_ms":7}]})";
    net::ClosedSession closed{.id = "mine", .type = net::SessionType::kRtmpPlay};
    closed.started_ms = 1;
    closed.ended_ms = 8;
    sessions_.add_closed(closed);
    std::string order;
    const Json list = json("/api/v1/sessions");
    for (const Json& one : list["sessions"]) order += one["id"].get<std::string>() + " ";
    EXPECT_EQ(order, "p q mine r ") << list;
    EXPECT_EQ(list["total"], 4);
}

TEST_F(EarlierTest, TheOverviewIsOfBoth) {
    other_.answers["/api/v1/overview"] =
        R"({"overview":{"publishers":{"rtmp":2},"players":{"flv":3},"ends":{"kicked":1}}})";
    other_.answers["/streams?"] = R"({"total":1,"streams":[["__defaultVhost__","live","s",3,500,1,2]]})";
    const Json overview = json("/api/v1/overview")["overview"];
    EXPECT_EQ(overview["publishers"], (Json{{"rtmp", 2}}));
    EXPECT_EQ(overview["players"], (Json{{"flv", 3}}));
    EXPECT_EQ(overview["streams"], (Json{{"total", 1}, {"published", 1}}));
    EXPECT_EQ(overview["verdicts"]["sick"], 1);
    EXPECT_GE(overview["traffic"]["recv_bytes"], 100) << "with what it has received itself";
    EXPECT_GE(overview["traffic"]["send_bytes"], 200);
}

TEST_F(EarlierTest, ACallForItIsPassedOn) {
    other_.answers["/api/v1/log?level=warn"] = R"({"code":0,"pid":"4711","lines":[],"next":7})";
    EXPECT_EQ(json("/api/v1/log?process=earlier&level=warn")["next"], 7);
    EXPECT_EQ(json("/api/v1/log?level=warn")["pid"], identity_.pid) << "this one answers";
    other_.is_gone = true;
    EXPECT_EQ(ask("/api/v1/log?process=earlier").status, 404);
}

TEST_F(EarlierTest, PartsOfFilesArePassedOn) {
    other_.answers["/api/v1/streams/vid-1/clip"] = "part";
    other_.status = 206;
    other_.fields.add("Content-Type", "video/mp4");
    other_.fields.add("Content-Range", "bytes 1-4/9");
    other_.fields.add("Content-Disposition", "attachment; filename=\"s.mp4\"");
    other_.fields.add("X-Clip-Start", "2026-01-02T03:04:05Z");
    other_.fields.add("Set-Cookie", "a=b");
    others_.add({.pattern = "/api/v1/streams/{id}/clip",
                 .access = net::ApiAccess::kPrivileged,
                 .handler = [](net::HttpRequest&, net::HttpResponse& response) { return response.send_error(404); }});
    service_->stop();
    service_ = std::make_unique<Service>(snapshot_, parts_);
    service_->connect();
    ASSERT_TRUE(runtime::testing::ok(service_->start()));
    const char* path = "/api/v1/streams/vid-1/clip?process=earlier&from=-5";
    const auto answer = ask(path, "Range: bytes=1-4\r\nIf-Range: \"x\"\r\nCookie: c=d\r\n");
    EXPECT_EQ(answer.status, 206);
    EXPECT_EQ(answer.body, "part");
    EXPECT_EQ(answer.header("Content-Range"), "bytes 1-4/9");
    EXPECT_EQ(answer.header("Content-Disposition"), "attachment; filename=\"s.mp4\"");
    EXPECT_EQ(answer.header("X-Clip-Start"), "2026-01-02T03:04:05Z");
    EXPECT_EQ(answer.header("Set-Cookie"), "") << "but nothing else";
    EXPECT_EQ(other_.asked_fields.get("Range"), "bytes=1-4");
    EXPECT_EQ(other_.asked_fields.get("If-Range"), "\"x\"");
    EXPECT_EQ(other_.asked_fields.get("X-Forwarded-For"), "127.0.0.1") << "whom it is for";
    EXPECT_EQ(other_.asked_fields.get("Cookie"), "");
    other_.answers.clear();
    other_.failure = base::Code::kLimit;
    const auto large = ask(path);
    EXPECT_EQ(large.status, 503);
    EXPECT_NE(large.body.find("the answer exceeds 5 bytes"), std::string::npos) << large.body;
}

TEST_F(EarlierTest, TheAuditSaysWhichProcessWasMeant) {
    std::vector<std::string> lines;
    offers_.audit = [&](const net::AuditEvent& event) { lines.push_back(event.ip + " " + event.what); };
    other_.answers["/api/v1/"] = R"({"code":0})";
    EXPECT_EQ(ask("/api/v1/clients/abc?process=earlier", {}, "DELETE").status, 200);
    EXPECT_EQ(ask("/api/v1/raw?rpc=reload&process=earlier").status, 200);
    EXPECT_EQ(ask("/api/v1/clients/abc?process=later", {}, "DELETE").status, 200);
    EXPECT_EQ(lines, (std::vector<std::string>{"127.0.0.1 DELETE /api/v1/clients/abc process=earlier",
                                               "127.0.0.1 GET /api/v1/raw rpc=reload process=earlier",
                                               "127.0.0.1 DELETE /api/v1/clients/abc"}));
}

TEST_F(EarlierTest, StrangersDoNotReachIt) {
    other_.answers["/api/v1/"] = R"({"code":0,"pid":"4711","data":{}})";
    const std::string_view stranger = "X-Forwarded-For: 192.0.2.1\r\n";
    EXPECT_EQ(json("/api/v1/versions?process=earlier")["pid"], "4711");
    other_.asked.clear();
    EXPECT_EQ(json("/api/v1/versions?process=earlier", stranger)["pid"], identity_.pid);
    EXPECT_EQ(ask("/api/v1/poster?app=live&stream=s&process=earlier").status, 204)
        << "what is for everybody is not passed on";
    EXPECT_TRUE(other_.asked.empty()) << other_.asked.front();
}

TEST_F(EarlierTest, TheMethodOfJsonpIsPassedOn) {
    other_.answers["/api/v1/streams/"] = R"({"code":0})";
    const auto answer = ask("/api/v1/streams/vid-1/recording?callback=f&method=DELETE");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(other_.asked.back(), "DELETE /api/v1/streams/vid-1/recording");
}

TEST_F(EarlierTest, WhoHasThePublisherAnswersAboutTheStream) {
    other_.answers["/api/v1/streams/"] = R"({"code":0,"recording":true,"configured":false})";
    EXPECT_EQ(json("/api/v1/streams/vid-1/recording")["recording"], true);
    EXPECT_EQ(ask("/api/v1/streams/vid-1/recording", {}, "POST", R"({"segments":true})").status, 200);
    EXPECT_EQ(other_.asked.back(), "POST /api/v1/streams/vid-1/recording");
    other_.answers["/api/v1/streams/"] = R"({"code":0,"verdict":"bad","level":"sick","checks":[]})";
    EXPECT_EQ(json("/api/v1/streams/vid-1/explain")["level"], "sick");
    other_.answers.clear();
    EXPECT_EQ(ask("/api/v1/streams/vid-1/recording").status, 503) << "it stands still";
    EXPECT_EQ(ask("/api/v1/streams/vid-1/explain").status, 404);
}

constexpr const char* kTwoIncidents =
    R"({"code":0,"total":2,"incidents":[)"
    R"({"stream":{"id":"x","vhost":"v","app":"live","name":"b"},"kind":"publisher_gone","from_ms":2000,"to_ms":null,)"
    R"("players_before":3,"players_after":3,"output":"","text":""},)"
    R"({"stream":{"id":"x","vhost":"v","app":"live","name":"a"},"kind":"output_failed","from_ms":1000,"to_ms":1500,)"
    R"("players_before":0,"players_after":0,"output":"hls","text":"disk"}]})";

TEST_F(EarlierTest, IncidentsOfBothAreListed) {
    other_.answers["/api/v1/incidents?"] = kTwoIncidents;
    const Json all = json("/api/v1/incidents");
    EXPECT_EQ(all["total"], 2);
    EXPECT_EQ(all["incidents"].size(), 2u);
    EXPECT_EQ(json("/api/v1/incidents?start=1&count=5")["incidents"].size(), 1u);
    EXPECT_EQ(other_.asked.back(), "GET /api/v1/incidents?count=6");
    const Json far = json("/api/v1/incidents?start=1000&count=10");
    EXPECT_EQ(other_.asked.back(), "GET /api/v1/incidents?count=1");
    EXPECT_EQ(far["total"], 2) << "of both, wherever the page is";
    EXPECT_TRUE(far["incidents"].empty()) << far;
}

TEST_F(EarlierTest, IncidentsAreKeptWhenItEnds) {
    const int64_t now_ms = base::wall_ms();
    other_.answers["/api/v1/incidents?"] = fmt::format(
        R"({{"total":3,"incidents":[{{"stream":{{"vhost":"v","app":"live","name":"b"}},"kind":"publisher_gone",)"
        R"("from_ms":{},"to_ms":null}},{{"stream":{{"vhost":"v","app":"live","name":"b"}},"kind":"output_failed",)"
        R"("from_ms":{},"to_ms":null,"output":"hls"}},7,{{"stream":9}},{{"stream":{{}},"kind":5,"from_ms":"x"}}]}})",
        now_ms - 1'000, now_ms - 2'000);
    for (const auto& read : offers_.read_other_process) read(false);
    other_.is_gone = true;
    EXPECT_EQ(json("/api/v1/incidents")["total"], 0) << "it has them still";
    other_.is_gone = false;
    for (const auto& read : offers_.read_other_process) read(true);
    EXPECT_EQ(json("/api/v1/incidents")["total"], 3) << "as the other one says, until it has gone";
    other_.is_gone = true;
    const Json all = json("/api/v1/incidents");
    ASSERT_EQ(all["incidents"].size(), 2u) << all;
    EXPECT_EQ(all["incidents"][0]["kind"], "publisher_gone");
    EXPECT_EQ(all["incidents"][0]["to_ms"], nullptr) << "it lasts";
    EXPECT_NE(all["incidents"][1]["to_ms"], nullptr) << "the process whose output failed has ended";
}

constexpr Page kTen{0, 10}, kSecond{1, 1};

TEST_F(EarlierTest, IncidentsThatCannotBeAreNotKept) {
    const auto incident = [](const Json& change) {
        Json one = {{"stream", {{"vhost", "v"}, {"app", "live"}, {"name", "a"}}},
                    {"kind", "output_failed"},
                    {"from_ms", 5u},
                    {"to_ms", base::wall_ms() - 1'000},
                    {"output", "hls"}};
        one.update(change);
        return one;
    };
    const uint64_t later = static_cast<uint64_t>(base::wall_ms()) + 3'600'000;
    const Json list = {incident(Json::object()),
                       incident({{"from_ms", later}}),
                       incident({{"from_ms", UINT64_MAX}}),
                       incident({{"from_ms", static_cast<uint64_t>(INT64_MAX)}, {"to_ms", nullptr}}),
                       incident({{"to_ms", later}}),
                       incident({{"to_ms", UINT64_MAX}}),
                       incident({{"output", std::string(5'000, 'x')}}),
                       incident({{"stream", {{"vhost", "v"}, {"app", "live"}, {"name", std::string(9'000, 'x')}}}})};
    other_.answers["/api/v1/incidents?"] = base::to_text({{"total", list.size()}, {"incidents", list}});
    for (const auto& read : offers_.read_other_process) read(true);
    other_.is_gone = true;
    const Json kept = json("/api/v1/incidents");
    ASSERT_EQ(kept["total"], 1) << kept;
    EXPECT_EQ(kept["incidents"][0]["from_ms"], 5);
}

TEST_F(EarlierTest, APageEndsBehindSoManyOfEach) {
    Json list = Json::array();
    for (int i = 0; i < 10; ++i) list.push_back({{"from_ms", i}});
    other_.answers["/api/v1/incidents?"] = base::to_text({{"total", 5'000u}, {"incidents", list}});
    EXPECT_EQ(json("/api/v1/incidents?count=10000")["incidents"].size(), 10u);
    EXPECT_EQ(other_.asked.back(), fmt::format("GET /api/v1/incidents?count={}", Earlier::kMaxJoined));
    EXPECT_EQ(json("/api/v1/incidents?start=4&count=10000")["incidents"].size(), 6u);
}

TEST(MergeAnswers, ListsAreJoinedAndNumbersAdded) {
    const net::ApiOfBoth how{.lists = {{.name = "pulls"},
                                       {.name = "hosts", .key = "host", .total = "total"},
                                       {.name = "alerts", .newest = "at", .lasting = "end"}},
                             .sums = {"pulls_total", "calls"},
                             .objects = {"inner"}};
    Json mine = {{"pulls", {{{"s", 1}}}},
                 {"pulls_total", 1u},
                 {"hosts", {{{"host", "a"}, {"up", true}, {"problem", ""}, {"calls", 1u}}}},
                 {"total", 1u},
                 {"inner", {{"calls", 2u}, {"other", 2u}}},
                 {"alerts", {{{"at", 5}, {"end", 0}}, {{"at", 9}, {"end", 10}}}}};
    const Json theirs = {
        {"pulls", {{{"s", 2}}, "x"}},
        {"pulls_total", 1u},
        {"hosts", {{{"host", "a"}, {"up", false}, {"problem", "down"}, {"calls", 2u}}, {{"host", "b"}}}},
        {"total", 2u},
        {"inner", {{"calls", 3u}, {"other", 3u}}},
        {"alerts", {{{"at", 7}, {"end", 0}}}}};
    merge_answers(mine, theirs, how, &kTen);
    EXPECT_EQ(mine["pulls"], (Json{{{"s", 1}}, {{"s", 2}}}));
    EXPECT_EQ(mine["pulls_total"], 2);
    EXPECT_EQ(mine["hosts"][0], (Json{{"host", "a"}, {"up", false}, {"problem", "down"}, {"calls", 3u}}));
    EXPECT_EQ(mine["total"], 2);
    EXPECT_EQ(mine["inner"], (Json{{"calls", 5u}, {"other", 2u}}));
    EXPECT_EQ(mine["alerts"][0]["at"], 7) << "what lasts, the newest first";
    EXPECT_EQ(mine["alerts"][2]["at"], 9);
}

TEST(MergeAnswers, WhatIsOfAnotherKindIsLeftAsItIs) {
    const net::ApiOfBoth how{.lists = {{.name = "hosts", .key = "host", .total = "total", .newest = "at"}},
                             .sums = {"calls"}};
    Json mine = {{"hosts", {7, {{"host", "a"}, {"up", true}, {"problem", 5}, {"calls", "x"}}}}, {"calls", 1u}};
    const Json theirs = {{"hosts", {{{"host", "a"}, {"up", "no"}, {"problem", 1}, {"calls", 2u}}, {{"host", 9}}}},
                         {"calls", nullptr},
                         {"total", "x"}};
    merge_answers(mine, theirs, how, &kTen);
    EXPECT_EQ(mine["calls"], 1u);
    EXPECT_EQ(mine["hosts"].size(), 3u);
    Json outputs = {{"outputs", {{{"output", "hls"}}}}};
    add_outputs(outputs, {{"outputs", {{{"output", 5}, {"to", nullptr}}, 7, {{"output", "hls"}, {"to", ""}}}}});
    EXPECT_EQ(outputs["outputs"].size(), 2u);
}

TEST(MergeAnswers, ThePageIsCutWhereverTheOtherAnswerIs) {
    const net::ApiOfBoth how{.lists = {{.name = "pulls"}}, .sums = {"pulls_total"}};
    for (const Json& theirs :
         {Json::object(), Json{{"pulls", 7}, {"pulls_total", "x"}}, Json{{"pulls", {1, nullptr}}}}) {
        Json mine = {{"pulls", {{{"s", 1}}, {{"s", 2}}, {{"s", 3}}}}, {"pulls_total", 3u}};
        merge_answers(mine, theirs, how, &kSecond);
        EXPECT_EQ(mine, (Json{{"pulls", {{{"s", 2}}}}, {"pulls_total", 3u}})) << theirs;
    }
}

TEST(MergeAnswers, APageFarBehindHasTheTotalsOfBoth) {
    const net::ApiOfBoth how{.lists = {{.name = "hosts", .key = "host", .total = "total", .newest = "at"},
                                       {.name = "coworkers", .is_paged = false, .key = "coworker"}},
                             .sums = {"failing"}};
    Json mine = {{"hosts", {{{"host", "y"}, {"at", 1}}, {{"host", "z"}, {"at", 2}}}},
                 {"total", 2'000u},
                 {"failing", 2u},
                 {"coworkers", {{{"coworker", "a"}}}}};
    const Json theirs = {{"hosts", {{{"host", "a"}, {"at", 9}}}},
                         {"total", 30u},
                         {"failing", 1u},
                         {"coworkers", {{{"coworker", "a"}}, {{"coworker", "b"}}}}};
    merge_answers(mine, theirs, how, nullptr);
    ASSERT_EQ(mine["hosts"].size(), 2u) << mine;
    EXPECT_EQ(mine["total"], 2'030);
    EXPECT_EQ(mine["failing"], 3);
    EXPECT_EQ(mine["coworkers"].size(), 2u) << "it has no pages";
}

TEST(MergeExplained, TheProcessOfThePublisherKnowsItsMedia) {
    const auto answer = [](const char* verdict, const char* level, const char* publisher, const char* drops) {
        return Json{
            {"verdict", verdict},
            {"level", level},
            {"checks",
             {{{"name", "publisher"}, {"verdict", publisher}}, {{"name", "viewer_drops"}, {"verdict", drops}}}}};
    };
    const Json here = answer("warn", "notice", "ok", "warn"), there = answer("bad", "sick", "bad", "ok");
    Json mine = here;
    merge_explained(mine, there, false);
    EXPECT_EQ(mine, here) << "it has left there, and is here";
    mine = here;
    merge_explained(mine, there, true);
    EXPECT_EQ(mine["level"], "sick");
    EXPECT_EQ(mine["checks"][0]["verdict"], "bad");
    EXPECT_EQ(mine["checks"][1]["verdict"], "warn") << "its players here";
    mine = answer("ok", "fine", "ok", "ok");
    merge_explained(mine, here, false);
    EXPECT_EQ(mine["verdict"], "warn") << "its players there";
    EXPECT_EQ(mine["level"], "notice");
    merge_explained(mine, Json{{"checks", 7}}, false);
    EXPECT_EQ(mine["level"], "notice");
}

}  // namespace
}  // namespace service::api
