#include "load/target.h"

#include <gtest/gtest.h>

namespace load {
namespace {

TEST(Target, NumbersEveryMark) {
    EXPECT_EQ(number_url("rtmp://h/live/s{i}?a={i}", 17), "rtmp://h/live/s17?a=17");
    EXPECT_EQ(number_url("rtmp://h/live/s", 17), "rtmp://h/live/s");
    EXPECT_EQ(number_url("{i}", 0), "0");
    EXPECT_EQ(number_url("{i", 0), "{i");
}

TEST(Target, Good) {
    struct Case {
        const char* url;
        Scheme scheme;
        const char* host;
        int port;
        const char* path;
    };
    for (const Case& c :
         {Case{"rtmp://127.0.0.1/live/a", Scheme::kRtmp, "127.0.0.1", 1935, ""},
          Case{"rtmp://host:19350/live/a", Scheme::kRtmp, "host", 19350, ""},
          Case{"http://127.0.0.1:8080/live/a.flv", Scheme::kHttp, "127.0.0.1", 8080, "/live/a.flv"},
          Case{"http://host/live/a.flv?x=1", Scheme::kHttp, "host", 80, "/live/a.flv?x=1"},
          Case{"http://[::1]:81/a", Scheme::kHttp, "::1", 81, "/a"},
          Case{"http://[::1]/a", Scheme::kHttp, "::1", 80, "/a"},
          Case{"https://host/live/a.m3u8", Scheme::kHttps, "host", 443, "/live/a.m3u8"},
          Case{"rtsp://127.0.0.1:8554/live/a?x=1", Scheme::kRtsp, "127.0.0.1", 8554, "/live/a?x=1"},
          Case{"rtsp://host/live/a", Scheme::kRtsp, "host", 554, "/live/a"},
          Case{"srt://127.0.0.1:97/#!::r=live/s,m=request", Scheme::kSrt, "127.0.0.1", 97, "/#!::r=live/s,m=request"},
          Case{"udp://127.0.0.1:98", Scheme::kUdp, "127.0.0.1", 98, "/"},
          Case{"tcp://127.0.0.1:99", Scheme::kTcp, "127.0.0.1", 99, "/"}}) {
        auto target = parse_target(c.url);
        ASSERT_TRUE(target) << c.url;
        EXPECT_EQ(target->scheme, c.scheme) << c.url;
        EXPECT_EQ(target->host, c.host) << c.url;
        EXPECT_EQ(target->port, c.port) << c.url;
        EXPECT_EQ(target->path, c.path) << c.url;
    }
}

TEST(Target, Bad) {
    for (const char* url :
         {"", "rtmp:/x", "ftp://h/x", "http://", "http://:80/x", "http://h:0/x", "http://h:99999/x", "http://h:8x/x",
          "tcp://h", "rtmp://", "udp://h", "srt://h/x", "rtsp://", "rtsp://h:0/x", "rtsps://h/x"}) {
        EXPECT_FALSE(parse_target(url)) << url;
    }
}

}  // namespace
}  // namespace load
