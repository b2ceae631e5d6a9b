#include "service/edge/token_guard.h"

#include <gtest/gtest.h>

namespace service::edge {
namespace {

// What an origin is shown must be the vhost and app that the client gets: of another vhost the answer is worth nothing.
TEST(TokenGuard, ShowsTheVhostAndAppThatThePlayerGets) {
    struct Row {
        net::SessionType type;
        const char* tc_url;
        const char* param;
        const char* vhost;  // of the origin
        const char* app;
        const char* want;  // null: refused
    };
    const auto kRtmp = net::SessionType::kRtmp, kFlv = net::SessionType::kFlvPlay, kWhep = net::SessionType::kRtcPlay;
    const char* const kDefault = "__defaultVhost__";
    for (const Row& row : std::initializer_list<Row>{
             // As the client sent it, where that is the vhost.
             {kRtmp, "rtmp://127.0.0.1:1935/live?token=1", "?token=1", kDefault, "live",
              "rtmp://127.0.0.1:1935/live?token=1"},
             {kRtmp, "rtmp://[::1]/live", "", kDefault, "live", "rtmp://[::1]/live"},
             {kRtmp, "rtmp://tok/live?token=1", "?token=1", "tok", "live", "rtmp://tok/live?token=1"},
             {kRtmp, "rtmp://h/live?token=1&vhost=tok", "?token=1", "tok", "live", "rtmp://h/live?token=1&vhost=tok"},
             {kFlv, "rtmp://tok/live", "?vhost=tok&k=1", "tok", "live", "rtmp://tok/live?vhost=tok&k=1"},
             // RTMP's app has parameters that its tcUrl lacks.
             {kRtmp, "rtmp://open/live", "?k=1", "tok", "live", "rtmp://tok/live?k=1"},
             // HTTP takes the first of two, RTMP the last.
             {kFlv, "rtmp://tok/live", "?vhost=tok&vhost=open&k=1", "tok", "live", "rtmp://tok/live?k=1"},
             {kFlv, "rtmp://tok/live", "?domain=open", "tok", "live", "rtmp://tok/live"},
             // The stream's name has it: WHEP, RTSP.
             {kWhep, "rtmp://open/live", "?app=live&stream=s%3Fvhost%3Dtok&vhost=open", "tok", "live",
              "rtmp://tok/live?app=live&stream=s%3Fvhost%3Dtok"},
             // The vhost that is pulled is a fixed one, or the origin may know the host for another.
             {kRtmp, "rtmp://a.com/live", "", "fixed", "live", "rtmp://fixed/live"},
             {kRtmp, "rtmp://a.com/live", "?k=1", kDefault, "live", "rtmp://__defaultVhost__/live?k=1"},
             // Another app.
             {kRtmp, "rtmp://tok/other", "", "tok", "live", "rtmp://tok/live"},
             {kFlv, "rtmp://tok/live?vhost=open", "", "tok", "live?vhost=open", nullptr},
             {kFlv, "rtmp://tok/a...vhost...open", "", "tok", "a...vhost...open", nullptr},
         }) {
        net::Visitor visitor;
        visitor.type = row.type;
        visitor.tc_url = row.tc_url;
        visitor.param = row.param;
        visitor.app = row.app;
        const auto shown = shown_tc_url(visitor, row.vhost);
        EXPECT_EQ(shown.value_or("refused"), row.want ? row.want : "refused") << row.tc_url << row.param;
    }
}

}  // namespace
}  // namespace service::edge
