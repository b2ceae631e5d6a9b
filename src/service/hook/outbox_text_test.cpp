#include "service/hook/outbox_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace service::hook {
namespace {

SavedReport report(uint64_t number) {
    return {.number = number,
            .run = "run1",
            .made_ms = 1'700'000'000'123,
            .hook = Hook::kOnDvr,
            .vhost = "v",
            .index = 1,
            .client_id = "c",
            .positions = {{{UINT64_MAX, true}, {7, false}}},
            .body = R"({"param":"?token=100%\t"})"};
}

SavedSession session(uint64_t number, net::Action action = net::Action::kPublish) {
    SavedSession session{.number = number, .run = "run1"};
    session.visitor.action = action;
    session.visitor.id = "id";
    session.visitor.ip = "::1";
    session.visitor.vhost = "v";
    session.visitor.app = "a/b";
    session.visitor.stream = "s\n\t%";
    session.visitor.param = "?x=1";
    session.visitor.tc_url = "rtmp://h/a/b";
    return session;
}

TEST(OutboxText, WhatIsNotDoneComesBack) {
    const std::string text = run_line("run1") + report_line(report(3)) + session_line(session(4)) +
                             report_line(report(5)) + session_line(session(6, net::Action::kPlay)) + done_line(3) +
                             done_line(4) + done_line(99);
    const SavedOutbox saved = read_outbox(text);
    ASSERT_EQ(saved.reports.size(), 1u);
    EXPECT_EQ(report_line(saved.reports[0]), report_line(report(5)));
    EXPECT_EQ(saved.reports[0].body, report(5).body);
    ASSERT_EQ(saved.sessions.size(), 1u);
    EXPECT_EQ(session_line(saved.sessions[0]), session_line(session(6, net::Action::kPlay)));
    EXPECT_EQ(saved.sessions[0].visitor.stream, "s\n\t%");
    EXPECT_EQ(saved.run, "run1");
    EXPECT_FALSE(saved.has_ended);
    EXPECT_EQ(saved.last_number, 99u);
    EXPECT_TRUE(read_outbox(text + end_line()).has_ended);
    EXPECT_FALSE(read_outbox(text + end_line() + run_line("run2")).has_ended);
}

TEST(OutboxText, ARunThatEndedByItselfHasToldTheEndsOfItsClients) {
    const std::string client = session_line(session(1)), run = run_line("run1");
    EXPECT_EQ(read_outbox(run + client).sessions.size(), 1u);
    EXPECT_EQ(read_outbox(run + client + end_line()).sessions.size(), 0u);
    EXPECT_EQ(read_outbox(run + report_line(report(2)) + end_line()).reports.size(), 1u);
    EXPECT_EQ(read_outbox(run + end_line() + client).sessions.size(), 1u) << "the line of its run is lost";
    const std::vector<uint64_t> live{2};
    EXPECT_EQ(compact_outbox(run + client + report_line(report(2)) + done_line(1) + end_line(), live),
              run + report_line(report(2)) + end_line());
}

TEST(OutboxText, NothingIsAFirstRun) {
    const SavedOutbox saved = read_outbox("");
    EXPECT_EQ(saved.run, "");
    EXPECT_TRUE(saved.has_ended);
    EXPECT_EQ(saved.last_number, 0u);
}

TEST(OutboxText, WhatIsNoLineOfItIsSkipped) {
    const std::string good = report_line(report(1));
    for (const std::string& bad :
         {good.substr(0, good.size() - 1), std::string("\n\n\t\n"), std::string("report\n"), std::string("report\tx\n"),
          std::string("report\t1\ttoo\tshort\n"), std::string("session\t1\trun\tdance\t\t\t\t\t\t\t\n"),
          std::string("done\t-1\n"), std::string("done\t18446744073709551615\n"), std::string("run\n")}) {
        const SavedOutbox saved = read_outbox(bad);
        EXPECT_TRUE(saved.reports.empty() && saved.sessions.empty()) << bad;
    }
    for (const char* body : {"", "{", "x", "[]"}) {
        SavedReport odd = report(1);
        odd.body = body;
        EXPECT_TRUE(read_outbox(report_line(odd)).reports.empty()) << body;
    }
}

TEST(OutboxText, CompactedItHasTheSame) {
    const std::string text = run_line("run0") + report_line(report(1)) + end_line() + run_line("run1") +
                             report_line(report(2)) + session_line(session(3)) + done_line(1);
    const std::vector<uint64_t> live{2, 3};
    const std::string compact = compact_outbox(text, live);
    EXPECT_EQ(compact, run_line("run1") + report_line(report(2)) + session_line(session(3)));
    EXPECT_EQ(compact_outbox(text, {}), run_line("run1"));
}

}  // namespace
}  // namespace service::hook
