#include "service/forward/target.h"

#include <gtest/gtest.h>

#include "protocol/rtmp/url.h"

namespace service::forward {
namespace {

struct Row {
    const char* destination;
    live::StreamKey key;
    const char* params;
    const char* tc_url;
    const char* stream;
    const char* shown;
};

TEST(ForwardTarget, Addresses) {
    const live::StreamKey plain{"__defaultVhost__", "live", "s"};
    const live::StreamKey hosted{"a.com", "x/y", "s"};
    const Row rows[] = {
        {"h:1936", plain, "", "rtmp://h:1936/live", "s", "rtmp://h:1936/live/s"},
        {"h", plain, "?k=v&w=a/b", "rtmp://h/live", "s?k=v&w=a/b", "rtmp://h/live/s"},
        {"h", hosted, "", "rtmp://h/x/y", "s?vhost=a.com", "rtmp://h/x/y/s"},
        {"h", plain, "?vhost=inner&k=v&%76host=inner&d%6Fmain=inner", "rtmp://h/live", "s?k=v", "rtmp://h/live/s"},
        {"h", hosted, "?vhost=inner", "rtmp://h/x/y", "s?vhost=a.com", "rtmp://h/x/y/s"},
        {"rtmps://h", hosted, "?k=v", "rtmps://h/x/y", "s?k=v&vhost=a.com", "rtmps://h/x/y/s"},
        {"[::1]:1936", plain, "", "rtmp://[::1]:1936/live", "s", "rtmp://[::1]:1936/live/s"},
        {"rtmps://h:1443/in/[vhost]-[stream]?t=[app]", hosted, "?k=v", "rtmps://h:1443/in", "a.com-s?t=x/y",
         "rtmps://h:1443/in/..."},
        {"rtmp://h/live2/secret", plain, "?k=v", "rtmp://h/live2", "secret", "rtmp://h/live2/..."},
    };
    for (const Row& row : rows) {
        auto target = make_target(row.destination, row.key, row.params);
        ASSERT_TRUE(target) << row.destination << ": " << target.error().text();
        const auto url = ::rtmp::parse_url(target->rtmp->url);
        ASSERT_TRUE(url) << row.destination;
        EXPECT_EQ(url->tc_url(), row.tc_url);
        EXPECT_EQ(url->stream, row.stream) << row.destination;
        EXPECT_EQ(target->shown, row.shown);
        EXPECT_EQ(url->tls, std::string_view(row.destination).starts_with("rtmps"));
    }
}

TEST(ForwardTarget, RtspAddresses) {
    const live::StreamKey plain{"__defaultVhost__", "live", "s"}, hosted{"a.com", "x/y", "s"};
    const auto text = [](const char* destination, const live::StreamKey& key, const char* params) {
        auto target = make_target(destination, key, params);
        if (!target) return "error: " + target.error().text();
        EXPECT_FALSE(target->rtmp) << destination;
        return target->text + " " + target->shown;
    };
    EXPECT_EQ(text("rtsp://h:8554", plain, "?k=v"), "rtsp://h:8554/live/s?k=v rtsp://h:8554/live/s");
    EXPECT_EQ(text("rtsps://u:p@h", hosted, ""), "rtsps://u:p@h/x/y/s?vhost=a.com rtsps://h/x/y/s");
    EXPECT_EQ(text("rtsp://u:p@h/in/[app]-[stream]?t=1", plain, "?k=v"), "rtsp://u:p@h/in/live-s?t=1 rtsp://h/in/...");
    EXPECT_EQ(text("rtsp://h/secret", plain, ""), "rtsp://h/secret rtsp://h/...");
}

TEST(ForwardTarget, SrtAddresses) {
    const live::StreamKey plain{"__defaultVhost__", "live", "s"}, hosted{"a.com", "x/y", "s&1"};
    const auto text = [](const char* destination, const live::StreamKey& key, const char* params) {
        auto target = make_target(destination, key, params);
        if (!target) return "error: " + target.error().text();
        EXPECT_FALSE(target->rtmp) << destination;
        EXPECT_EQ(target->shown, "srt://h:1") << destination;
        return target->text;
    };
    EXPECT_EQ(text("srt://h:1", plain, "?k=v"), "srt://h:1?streamid=#!::r=live/s,m=publish,k=v");
    EXPECT_EQ(text("srt://h:1/?passphrase=0123456789", {"a.com", "x/y", "s"}, ""),
              "srt://h:1?passphrase=0123456789&streamid=#!::h=a.com,r=x/y/s,m=publish");
    EXPECT_EQ(text("srt://h:1?streamid=publish:[app]/[vhost]-[stream]&latency=9", hosted, "?k=v"),
              "srt://h:1?streamid=publish:x/y/a.com-s%261&latency=9");
    EXPECT_EQ(text("srt://h:1", hosted, ""), "error: a name with characters that have a meaning in a stream id");
}

TEST(ForwardTarget, UdpAddresses) {
    const auto target = make_target("udp://239.1.1.1:5000?interface=eth0&ttl=4", {"v", "live", "s"}, "?token=1");
    ASSERT_TRUE(target) << target.error().text();
    EXPECT_EQ(target->shown, "udp://239.1.1.1:5000");
    ASSERT_TRUE(target->udp);
    EXPECT_EQ(target->udp->interface, "eth0");
    EXPECT_EQ(target->udp->ttl, 4);
    EXPECT_EQ(target->udp->port, 5000);
    EXPECT_FALSE(target->udp->rtp);
}

// The address is resolved as the next server would.
TEST(ForwardTarget, TheNextServerFindsTheSameStream) {
    for (const char* params : {"", "?k=v"})
        for (const char* vhost : {"__defaultVhost__", "a.com"}) {
            auto target = make_target("10.0.0.1:1936", {vhost, "a/b", "s"}, params);
            ASSERT_TRUE(target);
            const auto url = ::rtmp::parse_url(target->rtmp->url);
            ASSERT_TRUE(url);
            auto there = ::rtmp::resolve_stream(url->tc_url(), url->app, url->stream);
            ASSERT_TRUE(there);
            EXPECT_EQ(there->vhost, std::string_view(vhost) == "a.com" ? "a.com" : "10.0.0.1");
            EXPECT_EQ(there->app, "a/b");
            EXPECT_EQ(there->stream, "s");
            EXPECT_EQ(there->params, params);
        }
}

TEST(ForwardTarget, WhatIsNoDestination) {
    for (const char* bad : {"", "http://h/a/b", "h/a", ":1"})
        EXPECT_FALSE(make_target(bad, {"v", "live", "s"}, "")) << bad;
}

}  // namespace
}  // namespace service::forward
