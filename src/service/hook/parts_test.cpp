// The pure parts of hooks: bodies, verdicts, signatures, publishers.

#include <gtest/gtest.h>

#include "net/access/hmac.h"
#include "net/sessions/account.h"
#include "service/hook/answer.h"
#include "service/hook/body.h"
#include "service/hook/breaker.h"
#include "service/hook/caller.h"
#include "service/hook/publishers.h"
#include "service/hook/remembered_answers.h"

namespace service::hook {
namespace {

using Kind = Answer::Kind;

const Identity kIdentity{"vid-1", "svc-2", "/srv"};

net::Visitor visitor(std::string vhost = "__defaultVhost__") {
    net::Visitor v;
    v.action = net::Action::kPublish;
    v.id = "abcd1234";
    v.ip = "192.0.2.1";
    v.vhost = std::move(vhost);
    v.app = "live";
    v.stream = "cam";
    v.param = "?token=1";
    v.tc_url = "rtmp://h/live";
    v.page_url = "http://page/";
    return v;
}

constexpr const char* kCommon = R"({"server_id":"vid-1","service_id":"svc-2","action":")";
constexpr const char* kClient = R"(","client_id":"abcd1234","ip":"192.0.2.1","vhost":"__defaultVhost__","app":"live",)";

std::string expected(const char* action, const std::string& rest) { return kCommon + (action + (kClient + rest)); }

TEST(HookAnswer, APassphraseIsATextOfItsLength) {
    const auto passphrase = [](std::string_view body) { return interpret(200, body).passphrase; };
    EXPECT_EQ(passphrase(R"({"code":0,"data":{"passphrase":"a-long-secret"}})"), "a-long-secret");
    for (const char* none : {"0", R"({"code":0})", R"({"code":0,"data":null})", R"({"code":0,"data":{}})",
                             R"({"code":0,"data":{"passphrase":null}})", R"({"code":0,"data":"passphrase"})"}) {
        EXPECT_EQ(passphrase(none), "") << none;
        EXPECT_EQ(interpret(200, none).kind, Answer::Kind::kAccepted) << none;
    }
    EXPECT_EQ(passphrase(R"({"code":1,"data":{"passphrase":"a-long-secret"}})"), "") << "it refuses";
    for (const std::string& bad : {std::string("5"), std::string(R"("short")"), std::string(R"("")"),
                                   '"' + std::string(81, 'x') + '"', std::string(R"(["a-long-secret"])")}) {
        const Answer answer = interpret(200, R"({"code":0,"data":{"passphrase":)" + bad + "}}");
        EXPECT_EQ(answer.kind, Answer::Kind::kFailed) << bad;
        EXPECT_EQ(answer.why, "the answer's passphrase is no text of 10 to 80 bytes") << bad;
    }
}

TEST(HookBody, AllFieldsInTheirOrder) {
    const std::string id = net::stream_id({"__defaultVhost__", "live", "cam"});
    const std::string stream = R"("tcUrl":"rtmp://h/live","stream":"cam","param":"?token=1",)";
    const std::string ids = R"("stream_url":"/live/cam","stream_id":")" + id + R"("})";
    auto body = [&](Hook hook) { return client_body(hook, kIdentity, visitor(), {10, 20}, 3); };
    EXPECT_EQ(body(Hook::kOnConnect), expected("on_connect", stream + R"("pageUrl":"http://page/"})"));
    EXPECT_EQ(body(Hook::kOnClose), expected("on_close", R"("send_bytes":20,"recv_bytes":10})"));
    EXPECT_EQ(body(Hook::kOnPublish), expected("on_publish", stream + ids));
    EXPECT_EQ(body(Hook::kOnUnpublish), expected("on_unpublish", stream + ids));
    const std::string with_clients = ids.substr(0, ids.size() - 1) + R"(,"clients":3})";
    EXPECT_EQ(body(Hook::kOnPlay), expected("on_play", stream + R"("pageUrl":"http://page/",)" + with_clients));
    EXPECT_EQ(body(Hook::kOnStop), expected("on_stop", stream + with_clients));
    EXPECT_EQ(dvr_body(kIdentity, visitor(), {{"__defaultVhost__", "live", "cam"}, "./a.flv", 1, 2}),
              expected("on_dvr", stream + R"("cwd":"/srv","file":"./a.flv",)" + ids));
    live::StandbyChange change;
    change.priority = 2;
    change.is_active = true;
    change.reason = live::StandbyReason::kFrozen;
    change.other = "efgh5678";
    const std::string change_fields = R"("state":"active","priority":2,"reason":"frozen","other_id":"efgh5678",)";
    EXPECT_EQ(standby_body(kIdentity, visitor(), change), expected("on_standby", stream + change_fields + ids));
    live::SegmentDone segment{{"__defaultVhost__", "live", "cam"},
                              "./html/live/cam-7.ts",
                              "cam-7.ts",
                              "./html/live/cam.m3u8",
                              "live/cam.m3u8",
                              9360,
                              7,
                              "",
                              "live/cam-7.ts"};
    EXPECT_EQ(hls_body(kIdentity, visitor(), segment),
              expected("on_hls", stream + R"("duration":9.36,"cwd":"/srv","file":"./html/live/cam-7.ts",)" +
                                     R"("url":"live/cam-7.ts","m3u8":"./html/live/cam.m3u8",)" +
                                     R"("m3u8_url":"live/cam.m3u8","seq_no":7,)" + ids));
}

TEST(HookBody, AStartNamesWhatACrashCutOfItsVhost) {
    SavedOutbox left;
    left.run = "svc-1";
    left.has_ended = false;
    for (const auto& [action, vhost] : {std::pair{net::Action::kPublish, "v"},
                                        {net::Action::kPlay, "v"},
                                        {net::Action::kPlay, "v"},
                                        {net::Action::kConnect, "v"},
                                        {net::Action::kPublish, "other"}}) {
        SavedSession session{.visitor = visitor(vhost)};
        session.visitor.action = action;
        left.sessions.push_back(session);
    }
    EXPECT_EQ(start_body(kIdentity, "v", left),
              std::string(kCommon) + R"(on_start","client_id":"","ip":"","vhost":"v","app":"",)" +
                  R"("previous_id":"svc-1","crashed":true,"publishers":1,"players":2,"connections":1,)" +
                  R"("streams":["v/live/cam"]})");
}

TEST(HookBodies, OnAlert) {
    const Alert alert{.kind = AlertKind::kPublisherGone,
                      .stream = {"v", "live", "cam"},
                      .text = "gone",
                      .figure = 60,
                      .raised_ms = 5,
                      .cleared_ms = 9};
    EXPECT_EQ(alert_body(kIdentity, "v", alert),
              std::string(kCommon) + R"(on_alert","client_id":"","ip":"","vhost":"v","app":"live","stream":"cam",)" +
                  R"("alert":"publisher-gone","state":"cleared","about":"","text":"gone","figure":60.0,)" +
                  R"("raised_ms":5,"cleared_ms":9})");
}

TEST(HookBreaker, OpensAfterSomeFailuresInARow) {
    Breaker breaker;
    for (uint32_t i = 1; i < Breaker::kOpensAfter; ++i) EXPECT_FALSE(breaker.failed(100 * i, "no"));
    EXPECT_FALSE(breaker.succeeded(500)) << "it was not open";
    for (uint32_t i = 1; i < Breaker::kOpensAfter; ++i) EXPECT_FALSE(breaker.failed(1'000 + i, "no"));
    EXPECT_FALSE(breaker.is_open());
    EXPECT_TRUE(breaker.failed(2'000, "refused"));
    EXPECT_TRUE(breaker.is_open());
    EXPECT_EQ(breaker.since_ms(), 1'001) << "since the first failure";
    EXPECT_FALSE(breaker.failed(3'000, "again")) << "it is open already";
    EXPECT_EQ(breaker.last_error(), "again");
    EXPECT_TRUE(breaker.succeeded(4'000));
    EXPECT_FALSE(breaker.is_open());
    EXPECT_EQ(breaker.since_ms(), 4'000);
    EXPECT_EQ(breaker.opened(), 1u);
}

TEST(HookRememberedAnswers, AreBounded) {
    RememberedAnswers answers;
    const auto key = [](size_t i) { return std::to_string(i); };
    for (size_t i = 0; i < RememberedAnswers::kMax; ++i) answers.admitted(key(i), {}, 0);
    EXPECT_TRUE(answers.find(key(0), 0)) << "it is used";
    answers.admitted("new", {}, 0);
    EXPECT_EQ(answers.size(), RememberedAnswers::kMax);
    EXPECT_TRUE(answers.find(key(0), 0));
    EXPECT_FALSE(answers.find(key(1), 0)) << "used longest ago";
    EXPECT_FALSE(answers.find(key(2), RememberedAnswers::kMaxAgeMs + 1));
    answers.refused("new");
    EXPECT_FALSE(answers.find("new", 0));
    auto one = visitor(), other = visitor();
    other.id = "another session";
    const auto key_of = [](const net::Visitor& v) { return RememberedAnswers::key_of(Hook::kOnPlay, "u", v); };
    EXPECT_EQ(key_of(one), key_of(other));
    for (std::string net::Visitor::*member :
         {&net::Visitor::vhost, &net::Visitor::app, &net::Visitor::stream, &net::Visitor::param, &net::Visitor::ip}) {
        other = one;
        (other.*member) += "x";
        EXPECT_NE(key_of(one), key_of(other));
    }
}

TEST(HookBody, WhatIsNoText) {
    auto odd = visitor("example.com");
    odd.stream = "a\xff\"b";
    std::string body = client_body(Hook::kOnStop, kIdentity, odd);
    EXPECT_NE(body.find("\"stream\":\"a\xef\xbf\xbd\\\"b\""), std::string::npos) << body;
}

TEST(HookBody, NotifyUrl) {
    EXPECT_EQ(notify_url("http://h/[server_id]/[service_id]/[app]/[stream]/[ts_url][param]", kIdentity, visitor(),
                         "./live/cam-7.ts"),
              "http://h/vid-1/svc-2/live/cam/live/cam-7.ts?token=1");
    auto odd = visitor();
    odd.stream = "a b\r\n?";
    EXPECT_EQ(notify_url("http://h/[stream]", kIdentity, odd, ""), "http://h/a%20b%0D%0A%3F");
}

TEST(HookVerdict, AcceptedRefusedFailed) {
    for (const char* good : {"0", " 0\r\n", R"({"code":0})", R"({"code": 0, "data": {"code": 1}})"})
        for (int status : {200, 201}) EXPECT_EQ(interpret(status, good).kind, Kind::kAccepted) << status << " " << good;
    for (const char* no : {"1", "-1", R"({"code":1})", R"({"code":-5})"})
        EXPECT_EQ(interpret(200, no).kind, Kind::kRefused) << no;
    for (const char* bad : {"", " ", "ok", "0x", "00", "0.0", "\"0\"", "null", "[0]", "{}", R"({"code":"0"})",
                            R"({"code":0.0})", R"({"code":null})", R"({"code":0)", "<html>", "true"})
        EXPECT_EQ(interpret(200, bad).kind, Kind::kFailed) << bad;
    for (int status : {202, 204, 301, 302, 307, 500, 502, 503}) EXPECT_EQ(interpret(status, "0").kind, Kind::kFailed);
    for (int status : {400, 401, 403, 404, 410}) EXPECT_EQ(interpret(status, "0").kind, Kind::kRefused);
}

TEST(HookSignature, IsTheHmacOfTimeAndBody) {
    EXPECT_EQ(signature("k", "{}", 1700000000), "t=1700000000,v1=" + net::hmac_sha256_hex("k", "1700000000.{}"));
}

TEST(HookCaller, UrlsInTheLogAndTheirTargets) {
    EXPECT_EQ(for_log("http://h/p?secret=1"), "http://h/p");
    EXPECT_EQ(target_of("https://h:8443/p"), "https://h:8443");
    EXPECT_EQ(target_of("http://h?x"), "http://h");
}

TEST(HookPublishers, TheOneThatPublishesElseTheLast) {
    Publishers publishers;
    live::StreamKey key{"__defaultVhost__", "live", "cam"};
    EXPECT_EQ(publishers.find(key).id, "");
    EXPECT_EQ(publishers.find(key).stream, "cam");
    auto a = visitor(), b = visitor();
    a.id = "a";
    b.id = "b";
    publishers.came(a);
    EXPECT_EQ(publishers.find(key).id, "a");
    publishers.left(a);
    EXPECT_EQ(publishers.find(key).id, "a");
    publishers.came(b);
    EXPECT_EQ(publishers.find(key).id, "b");
    publishers.came(a);  // refused by another guard, or the name was taken
    publishers.left(a);
    EXPECT_EQ(publishers.find(key).id, "b");
    publishers.left(b);
    publishers.left(b);
    EXPECT_EQ(publishers.find(key).id, "b");
    // The number of entries that have left is limited.
    for (size_t i = 0; i < 2 * Publishers::kMaxLeft; ++i) {
        auto other = visitor();
        other.stream = "s" + std::to_string(i);
        publishers.came(other);
        publishers.left(other);
    }
    EXPECT_EQ(publishers.find(key).id, "");
    EXPECT_EQ(publishers.find({"__defaultVhost__", "live", "s1999"}).id, "abcd1234");
}

TEST(HookPublishers, EachIsFoundByItsIdWhoeverCameSince) {
    Publishers publishers;
    const live::StreamKey key{"__defaultVhost__", "live", "cam"};
    auto one = [](std::string id) {
        auto v = visitor();
        v.param = "?of=" + id;
        v.id = std::move(id);
        return v;
    };
    for (const char* id : {"a", "b", "c"}) publishers.came(one(id));
    publishers.left(one("b"));
    publishers.left(one("a"));  // c has taken over
    for (const char* id : {"a", "b", "c"}) EXPECT_EQ(publishers.find(key, id).param, std::string("?of=") + id);
    EXPECT_EQ(publishers.find(key).id, "c");
    EXPECT_EQ(publishers.find(key, "").id, "c");
    publishers.left(one("c"));
    EXPECT_EQ(publishers.find(key).id, "c");
    // For an unknown id no other publisher is returned.
    EXPECT_EQ(publishers.find(key, "x").param, "");
    EXPECT_EQ(publishers.find(key, "x").id, "x");
    EXPECT_EQ(Publishers::unknown(key).id, "");
}

}  // namespace
}  // namespace service::hook
