#include "net/sessions/closed_sessions.h"

#include <gtest/gtest.h>

#include <set>

#include "base/result.h"
#include "net/sessions/session.h"

namespace net {
namespace {

using base::CloseReason;

struct TestSession : Session {
    using Session::log_end;
    using Session::Session;
    std::string stream_text() const override { return "v/live/a"; }
    Traffic traffic() const override { return {10, 20}; }
    void kick(std::string_view) override { kicked = true; }
    bool kicked = false;
};

TEST(CloseReason, EachHasANameOfItsOwn) {
    std::set<std::string_view> names(base::kCloseReasonNames.begin(), base::kCloseReasonNames.end());
    EXPECT_EQ(names.size(), base::kCloseReasons);
    EXPECT_FALSE(names.contains(""));
    EXPECT_EQ(base::close_reason_name(CloseReason::kSystemError), "system-error");
    EXPECT_EQ(base::close_reason_name(CloseReason::kKicked), "kicked");
    EXPECT_EQ(base::close_reason_name(CloseReason::kRefusedHook), "refused-hook");
}

TEST(CloseReason, OfAnError) {
    EXPECT_EQ(base::Error(base::Code::kTimeout, "x").close_reason(), CloseReason::kPeerTimeout);
    EXPECT_EQ(base::Error(base::Code::kClosed, "x").close_reason(), CloseReason::kPeerClosed);
    EXPECT_EQ(base::Error(base::Code::kClosed, "x", ECONNRESET).close_reason(), CloseReason::kConnectionLost);
    base::Result<void> refused = base::fail(CloseReason::kRefusedHook, "no");
    EXPECT_EQ(refused.error().code(), base::Code::kRefused);
    EXPECT_EQ(std::move(refused.error()).with("asking").close_reason(), CloseReason::kRefusedHook);
    base::Result<void> many = base::fail(CloseReason::kRefusedLimit, "no");
    EXPECT_EQ(many.error().code(), base::Code::kLimit);
}

TEST(ClosedSessions, KeepsTheNewestAndCountsAll) {
    ClosedSessions closed;
    for (size_t i = 0; i < ClosedSessions::kMaxSessions + 5; ++i) {
        ClosedSession one;
        one.id = std::to_string(i);
        one.reason = i % 2 ? CloseReason::kTooSlow : CloseReason::kPeerClosed;
        one.text.assign(10'000, 'x');
        closed.add(std::move(one));
    }
    EXPECT_EQ(closed.size(), ClosedSessions::kMaxSessions);
    EXPECT_EQ(closed.newest(0).id, std::to_string(ClosedSessions::kMaxSessions + 4));
    EXPECT_EQ(closed.newest(1).id, std::to_string(ClosedSessions::kMaxSessions + 3));
    EXPECT_EQ(closed.newest(ClosedSessions::kMaxSessions - 1).id, "5");
    EXPECT_EQ(closed.newest(0).text.size(), ClosedSessions::kMaxTextBytes);
    EXPECT_EQ(closed.count_of(CloseReason::kPeerClosed), ClosedSessions::kMaxSessions / 2 + 3);
    EXPECT_EQ(closed.errors(), ClosedSessions::kMaxSessions / 2 + 2);
}

TEST(SessionTable, FindsByIdWhateverComesAndGoes) {
    SessionTable table;
    std::vector<std::unique_ptr<TestSession>> all;
    for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<TestSession>(table, std::to_string(i), "127.0.0.1"));
    all.erase(all.begin() + 10, all.begin() + 20);
    EXPECT_EQ(table.find("15"), nullptr);
    EXPECT_EQ(table.find(""), nullptr);
    EXPECT_EQ(table.find("123456789"), nullptr);
    for (const auto& session : all) {
        EXPECT_EQ(table.find(session->id()), session.get());
        EXPECT_EQ(session->id(), std::to_string(&session - all.data() + (&session - all.data() < 10 ? 0 : 10)));
    }
    ASSERT_EQ(table.size(), 90u);
    std::set<std::string> ids;
    for (size_t i = 0; i < table.size(); ++i) ids.insert(table.at(i).id());
    EXPECT_EQ(ids.size(), 90u);
}

TEST(SessionTable, KeepsWhyTheyEnded) {
    SessionTable table;
    {
        TestSession slow(table, "slow", "192.0.2.1");
        slow.set_type(SessionType::kRtmpPlay);
        slow.log_end("no byte accepted", CloseReason::kTooSlow);
        TestSession stopped(table, "stopped", "192.0.2.2");
        stopped.set_type(SessionType::kFlvPlay);
        stopped.close("the server stops", CloseReason::kServerStop);
        EXPECT_TRUE(stopped.kicked);
        stopped.log_end("closed", CloseReason::kPeerClosed);  // the first reason counts
        TestSession asked(table, "asked", "192.0.2.3");
        asked.set_type(SessionType::kHttp);
        asked.log_end("done", CloseReason::kDone);
    }
    ASSERT_EQ(table.closed().size(), 2u);
    const ClosedSession& stopped = table.closed().newest(0);
    EXPECT_EQ(stopped.id, "stopped");
    EXPECT_EQ(stopped.reason, CloseReason::kServerStop);
    EXPECT_EQ(stopped.text, "closed");
    const ClosedSession& slow = table.closed().newest(1);
    EXPECT_EQ(slow.ip, "192.0.2.1");
    EXPECT_EQ(slow.type, SessionType::kRtmpPlay);
    EXPECT_EQ(slow.stream, "v/live/a");
    EXPECT_EQ(slow.traffic.sent_bytes, 20u);
    EXPECT_EQ(slow.reason, CloseReason::kTooSlow);
    EXPECT_GE(slow.ended_ms, slow.started_ms);
    EXPECT_EQ(table.closed().clients_of(CloseReason::kTooSlow), 1u);
    EXPECT_EQ(table.closed().clients_of(CloseReason::kDone), 0u) << "a request is no client";
    // An HTTP request is counted, not kept.
    EXPECT_EQ(table.closed().count_of(CloseReason::kDone), 1u);
    EXPECT_EQ(table.closed().errors(), 1u);
}

}  // namespace
}  // namespace net
