#include "net/sessions/session_query.h"

#include <gtest/gtest.h>

namespace net {
namespace {

TEST(SessionQuery, ByTimeStreamAndClient) {
    ClosedSession session{.id = "abc", .ip = "192.0.2.7", .stream = "v/live/cam", .stream_id = "vid-1"};
    session.started_ms = 1000;
    session.ended_ms = 2000;
    session.token = "acme";
    const struct {
        SessionQuery query;
        bool matches;
    } rows[] = {{{}, true},
                {{.from_ms = 2000}, true},
                {{.from_ms = 2001}, false},
                {{.to_ms = 1000}, true},
                {{.to_ms = 999}, false},
                {{.from_ms = 1500, .to_ms = 1600}, true},
                {{.stream = "cam"}, true},
                {{.stream = "live/cam"}, true},
                {{.stream = "v/live/cam"}, true},
                {{.stream = "vid-1"}, true},
                {{.stream = "am"}, false},
                {{.stream = "live"}, false},
                {{.stream = "x/v/live/cam"}, false},
                {{.client = "abc"}, true},
                {{.client = "192.0.2.7"}, true},
                {{.client = "acme"}, true},
                {{.client = "192.0.2"}, false},
                {{.client = "acme", .finds_tokens = false}, false},
                {{.client = "abc", .finds_tokens = false}, true},
                {{.from_ms = 2001, .stream = "cam"}, false}};
    for (const auto& row : rows)
        EXPECT_EQ(row.query.matches(session), row.matches)
            << row.query.from_ms << " " << row.query.to_ms << " " << row.query.stream << " " << row.query.client;
    session.ended_ms = 0;
    EXPECT_TRUE(SessionQuery{.from_ms = 9000}.matches(session)) << "it is still there";
}

}  // namespace
}  // namespace net
