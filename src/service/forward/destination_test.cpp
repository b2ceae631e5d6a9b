#include "service/forward/destination.h"

#include <gtest/gtest.h>

namespace service::forward {
namespace {

std::string parsed(std::string_view text) {
    auto d = parse_destination(text);
    if (!d) return "error";
    return (d->scheme == "rtmp" ? "" : d->scheme + " ") + d->credentials + d->authority + "|" + d->path +
           (d->parameters.empty() ? "" : "?" + d->parameters);
}

TEST(Destination, Forms) {
    EXPECT_EQ(parsed("127.0.0.1:1936"), "127.0.0.1:1936|");
    EXPECT_EQ(parsed("example.com"), "example.com|");
    EXPECT_EQ(parsed("[::1]:1936"), "[::1]:1936|");
    EXPECT_EQ(parsed("[::1]"), "[::1]|");
    EXPECT_EQ(parsed("rtmp://h:1"), "h:1|");
    EXPECT_EQ(parsed("rtmp://h/"), "h|");
    EXPECT_EQ(parsed("rtmps://h/live2/key-1"), "rtmps h|live2/key-1");
    EXPECT_EQ(parsed("rtmp://h/a/b/[stream]?k=a/b"), "h|a/b/[stream]?k=a/b");
    EXPECT_EQ(parsed("h:1/live/[vhost]-[stream]"), "h:1|live/[vhost]-[stream]");
    EXPECT_EQ(parsed("rtsp://h:8554"), "rtsp h:8554|");
    EXPECT_EQ(parsed("RTSPS://u:p@ss@[::1]/"), "rtsps u:p@ss@[::1]|");
    EXPECT_EQ(parsed("rtsp://u@h/one"), "rtsp u@h|one");
    EXPECT_EQ(parsed("rtsp://h/a/b/[stream]?k=a/b@c"), "rtsp h|a/b/[stream]?k=a/b@c");
    EXPECT_EQ(parsed("srt://h:10080"), "srt h:10080|");
    EXPECT_EQ(parsed("SRT://[::1]:1/?latency=200&streamid=#!::r=in/[stream],m=publish"),
              "srt [::1]:1|?latency=200&streamid=#!::r=in/[stream],m=publish");
    EXPECT_EQ(parsed("udp://239.1.1.1:5000?interface=eth0&ttl=4&pkt_size=1316"),
              "udp 239.1.1.1:5000|?interface=eth0&ttl=4&pkt_size=1316");
    EXPECT_EQ(parsed("rtp://[ff15::1]:5000"), "rtp [ff15::1]:5000|");
}

TEST(Destination, WhatItIsNot) {
    for (const char* bad : {"",
                            ":1935",
                            "/a/b",
                            "h:",
                            "h:0",
                            "h:65536",
                            "h:x",
                            "http://h/a/b",
                            "rtmpt://h",
                            "rtmp://",
                            "rtmp:///a/b",
                            "h/a",
                            "h/a/",
                            "h//b",
                            "h b",
                            "[::1",
                            "[]:1",
                            "[::1]1",
                            "u:p@h",
                            "::1",
                            "h?x=1",
                            "h:1\x01",
                            "srt://h",
                            "srt://h:1/live/s",
                            "srt://h:1?mode=listener",
                            "udp://h",
                            "udp://:1",
                            "udp://h:0",
                            "udp://h:1?ttl=0",
                            "udp://h:1?ttl=256",
                            "rtp://h:1?x=1"})
        EXPECT_EQ(parsed(bad), "error") << bad;
}

TEST(Destination, AnErrorHasNoPassword) {
    for (const char* bad :
         {"rtsp://u:secret@/s", "rtsp://u:secret@h:x/s", "rtsp://u:secret%@h/s", "rtsp://u:secret@h?x",
          "rtmp://u:secret@h/a/b", "http://u:secret@h/a/b", "rtsp://u:secret@h/a b", "srt://u:secret@h:1",
          "srt://h:1?passphrase=secret", "srt://h:1?x=secret"}) {
        auto d = parse_destination(bad);
        ASSERT_FALSE(d) << bad;
        EXPECT_EQ(d.error().text().find("secret"), std::string::npos) << d.error().text();
    }
}

}  // namespace
}  // namespace service::forward
