#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "net/sessions/session_query.h"
#include "net/sessions/usage_ledger.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

using net::testing::Answer;

class PastTest : public testing::ApiTest {
  protected:
    net::UsageLedger ledger_{100'000};
};

int64_t cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

TEST_F(PastTest, ASortByViewersCountsEachRowOnce) {
    offers_.usage = &ledger_;
    constexpr uint64_t kRows = 2000, kOdd = 0x9E3779B97F4A7C15;
    for (uint64_t row = 0; row < kRows; ++row) {
        net::Usage& usage = ledger_.change({20261129, {"v", "live", fmt::format("s{}", row)}, ""});
        usage.sent = row;
        // Different numbers, in another order than those of the bytes.
        const uint64_t viewers = 100 + row * 7 % kRows % 50 * 100;
        for (uint64_t i = 1; i <= viewers; ++i) usage.viewers.add(i * kOdd);
    }
    const auto cost_of = [&](const char* column) {
        const int64_t begin = cpu_us();
        const Json answer = json(fmt::format("/api/v1/usage?count=10&sort=-{}", column));
        EXPECT_EQ(answer.value("total", 0), 2000) << answer;
        return cpu_us() - begin;
    };
    cost_of("sent");
    const int64_t by_sent = cost_of("sent"), by_viewers = cost_of("viewers");
    EXPECT_LT(by_viewers, 3 * by_sent + 20'000) << "each comparison counts, or so it seems; by sent: " << by_sent;
    const Json rows = json("/api/v1/usage?count=2000&sort=viewers")["usage"];
    ASSERT_EQ(rows.size(), kRows);
    for (size_t i = 1; i < rows.size(); ++i)
        ASSERT_LE(rows[i - 1]["unique_viewers"].get<int>(), rows[i]["unique_viewers"].get<int>()) << i;
    EXPECT_LT(rows.front()["unique_viewers"].get<int>(), rows.back()["unique_viewers"].get<int>());
}

net::ClosedSession closed_at(const std::string& id, int64_t ended_ms) {
    net::ClosedSession session{.id = id, .ip = "192.0.2.9", .type = net::SessionType::kFlvPlay, .stream = "v/live/s"};
    session.started_ms = 1;
    session.ended_ms = ended_ms;
    session.token = "acme";
    return session;
}

struct PastViewer final : net::Session {
    PastViewer(net::SessionTable& table, std::string_view id) : Session(table, id, "192.0.2.9") {
        set_type(net::SessionType::kFlvPlay);
        enter_stream({"v", "live", "s"}, false);
    }
    ~PastViewer() override { log_end("closed", base::CloseReason::kPeerClosed); }
    std::string stream_text() const override { return "v/live/s"; }
    net::Traffic traffic() const override { return {}; }
    void kick(std::string_view) override {}
};

TEST_F(PastTest, SessionsOfTheProcessBeforeAreListed) {
    for (const int64_t ended_ms : {2000, 3000, 4000})
        sessions_.add_closed(closed_at(fmt::format("m{}", ended_ms), ended_ms));
    auto leaving = std::make_unique<PastViewer>(sessions_, "leaves");
    PastViewer staying(sessions_, "stays");
    // The process before ends at the same time, and writes to the same file.
    offers_.past_sessions = [&](const net::SessionQuery&) -> base::Result<net::PastSessions> {
        net::PastSessions past;
        if (leaving) {
            leaving.reset();
            past.sessions.push_back(closed_at("leaves", sessions_.closed().newest(0).ended_ms));
        }
        for (const int64_t ended_ms : {4500, 4000, 3500, 3000, 2000, 1000})
            past.sessions.push_back(
                closed_at(fmt::format("{}{}", ended_ms % 1000 || ended_ms == 1000 ? "f" : "m", ended_ms), ended_ms));
        return past;
    };
    const auto ids_of = [&](std::string_view query) {
        std::vector<std::string> ids;
        const Json answer = json(fmt::format("/api/v1/sessions?count=100{}", query));
        for (const Json& one : answer["sessions"]) ids.push_back(one["id"]);
        return ids;
    };
    std::vector<std::string> ids = ids_of("");
    ASSERT_GE(ids.size(), 2u);
    std::ranges::sort(ids.begin(), ids.begin() + 2);
    EXPECT_EQ(ids, (std::vector<std::string>{"leaves", "stays", "f4500", "m4000", "f3500", "m3000", "m2000", "f1000"}));
    EXPECT_EQ(ids_of("&from=4"), (std::vector<std::string>{"stays", "leaves", "f4500", "m4000"}))
        << "memory goes back further, and does not have those of the process before";
}

TEST_F(PastTest, AStrangerSeesNoFilesAndNoTokens) {
    offers_.usage = &ledger_;
    ledger_.change({20261129, {"v", "live", "s"}, "acme"}).sent = 5;
    int reads = 0;
    offers_.past_sessions = [&](const net::SessionQuery&) -> base::Result<net::PastSessions> {
        ++reads;
        return net::PastSessions{.sessions = {closed_at("file", 1000)}};
    };
    sessions_.add_closed(closed_at("memory", 2000));
    constexpr std::string_view kProxy = "X-Forwarded-For: 192.0.2.1\r\n", kPage = "Origin: http://a.example\r\n";
    for (const std::string_view stranger : {kProxy, kPage}) {
        const Json seen = json("/api/v1/sessions", stranger);
        EXPECT_EQ(seen["total"], 1) << seen;
        EXPECT_EQ(seen["sessions"][0]["id"], "memory");
        EXPECT_EQ(seen["sessions"][0]["token"], "");
        EXPECT_EQ(seen["complete"], false);
        EXPECT_EQ(json("/api/v1/sessions?client=acme", stranger)["total"], 0) << "it could be guessed";
        for (const char* query : {"by=token", "by=day,token", "token=acme"}) {
            const Answer answer = ask(fmt::format("/api/v1/usage?{}", query), stranger);
            EXPECT_EQ(answer.status, 403) << query;
            EXPECT_NE(answer.body.find("by=token and token="), std::string::npos) << answer.body;
        }
        EXPECT_EQ(json("/api/v1/usage", stranger)["usage"][0]["sent_bytes"], 5);
    }
    EXPECT_EQ(reads, 0) << "a stranger makes the server read no files";
    EXPECT_EQ(json("/api/v1/sessions")["total"], 2) << "this machine";
    EXPECT_EQ(json("/api/v1/sessions?client=acme")["sessions"][0]["token"], "acme");
    EXPECT_EQ(json("/api/v1/usage?by=token")["usage"][0]["token"], "acme");
    // With credentials from anywhere.
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->http_api.auth = {.enabled = true, .read_tokens = {"a-token-to-read"}};
    service_->reload(next);
    const std::string reader = std::string(kProxy) + "Authorization: Bearer a-token-to-read\r\n";
    EXPECT_EQ(json("/api/v1/sessions", reader)["total"], 2);
    EXPECT_EQ(json("/api/v1/usage?token=acme", reader)["total"], 1);
}

}  // namespace
}  // namespace service::api
