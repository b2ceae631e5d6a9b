#include "protocol/rtmp/url.h"

#include <gtest/gtest.h>

namespace rtmp {
namespace {

TEST(RtmpUrl, Whole) {
    struct Row {
        const char* text;
        const char* host;
        int port;
        bool tls;
        const char* app;
        const char* stream;
    };
    const Row rows[] = {
        {"rtmp://h/live/s", "h", 1935, false, "live", "s"},
        {"rtmp://h:19350/live/s?k=v", "h", 19350, false, "live", "s?k=v"},
        {"rtmps://h/live/s", "h", 443, true, "live", "s"},
        {"rtmps://h:1443/live/s", "h", 1443, true, "live", "s"},
        {"rtmp://[::1]:1936/a/b/s", "::1", 1936, false, "a/b", "s"},
        {"rtmp://h/live?vhost=v/s", "h", 1935, false, "live?vhost=v", "s"},
        {"rtmp://h/live...vhost...v.com/s", "h", 1935, false, "live...vhost...v.com", "s"},
        {"rtmp://h/live/s?u=a/b/c", "h", 1935, false, "live", "s?u=a/b/c"},
        {"rtmp://u:p@h/live/s", "h", 1935, false, "live", "s"},
        {"rtmp://h/live", "h", 1935, false, "live", ""},
    };
    for (const Row& row : rows) {
        auto url = parse_url(row.text);
        ASSERT_TRUE(url) << row.text << ": " << url.error().text();
        EXPECT_EQ(url->host, row.host) << row.text;
        EXPECT_EQ(url->port, row.port) << row.text;
        EXPECT_EQ(url->tls, row.tls) << row.text;
        EXPECT_EQ(url->app, row.app) << row.text;
        EXPECT_EQ(url->stream, row.stream) << row.text;
    }
}

TEST(RtmpUrl, Bad) {
    for (const char* text :
         {"", "http://h/a/s", "rtmp:/h/a/s", "rtmp://", "rtmp:///a/s", "rtmp://h:0/a/s", "rtmp://h:65536/a/s",
          "rtmp://h:x/a/s", "rtmp://[::1/a/s", "rtmp://[::1]x/a/s", "rtmp://h", "rtmp://h/", "rtmp://h\x01/a/s"})
        EXPECT_FALSE(parse_url(text)) << text;
}

TEST(RtmpUrl, TcUrl) {
    EXPECT_EQ(parse_url("rtmp://h/live/s")->tc_url(), "rtmp://h/live");
    EXPECT_EQ(parse_url("rtmp://[::1]:5/live/s")->tc_url(), "rtmp://[::1]:5/live");
    EXPECT_EQ(parse_url("rtmps://h:1935/live/s")->tc_url(), "rtmps://h:1935/live");
}

TEST(RtmpUrl, Resolve) {
    struct Row {
        const char* tc_url;
        const char* app;
        const char* stream;
        const char* vhost;
        const char* want_app;
        const char* want_stream;
        const char* params;
    };
    const Row rows[] = {
        {"rtmp://h/live", "live", "s", "h", "live", "s", ""},
        {"rtmp://h:1935/live", "live", "s?token=1", "h", "live", "s", "?token=1"},
        {"rtmp://h/live", "live", "s?vhost=v", "v", "live", "s", ""},
        {"rtmp://h/live", "live", "s?a=1&vhost=v&b=2", "v", "live", "s", "?a=1&b=2"},
        {"rtmp://h/live?vhost=v", "live?vhost=v", "s", "v", "live", "s", ""},
        {"rtmp://h/live?vhost=v&k=1", "live", "s?t=2", "v", "live", "s", "?k=1&t=2"},
        {"rtmp://h/live?vhost=v", "", "s", "v", "live", "s", ""},
        {"rtmp://h/live...vhost...v.com", "live...vhost...v.com", "s", "v.com", "live", "s", ""},
        {"rtmp://h/live...vhost...v...k...1", "live", "s", "v", "live", "s", "?k=1"},
        {"rtmp://h/live", "live", "s...vhost...v", "v", "live", "s", ""},
        {"rtmp://h/a/b", "a/b", "s", "h", "a/b", "s", ""},
        {"rtmp://h/a", "a", "b/s", "h", "a/b", "s", ""},
        {"rtmp://[::1]:1935/live/", "live/", "/s", "::1", "live", "s", ""},
        {"", "live", "s", "__defaultVhost__", "live", "s", ""},
        {"", "live?vhost=v", "s", "v", "live", "s", ""},
        {"rtmp://h/live?vhost=v", "live?vhost=w", "s?vhost=x", "x", "live", "s", ""},
    };
    for (const Row& row : rows) {
        auto a = resolve_stream(row.tc_url, row.app, row.stream);
        ASSERT_TRUE(a) << row.tc_url << " " << row.stream << ": " << a.error().text();
        EXPECT_EQ(a->vhost, row.vhost) << row.tc_url << " " << row.stream;
        EXPECT_EQ(a->app, row.want_app) << row.tc_url << " " << row.stream;
        EXPECT_EQ(a->stream, row.want_stream) << row.tc_url << " " << row.stream;
        EXPECT_EQ(a->params, row.params) << row.tc_url << " " << row.stream;
    }
}

TEST(RtmpUrl, ATcUrlOfAKeyNamesItWhateverItsParametersSay) {
    for (const char* params : {"", "?vhost=other", "?domain=other&k=1", "?k=1&vhost=a&vhost=b", "?k=1"}) {
        const auto address = resolve_stream(tc_url_of("v.example", "a/b", params), "", "s");
        ASSERT_TRUE(address) << params;
        EXPECT_EQ(address->vhost, "v.example") << params;
        EXPECT_EQ(address->app, "a/b") << params;
        EXPECT_EQ(address->params, std::string_view(params).find("k=1") == std::string_view::npos ? "" : "?k=1");
    }
}

TEST(RtmpUrl, ResolveRefuses) {
    struct Row {
        std::string app;
        std::string stream;
        const char* why;
    };
    const Row rows[] = {
        {"live", "", "the stream name is empty"},
        {"live", "?k=v", "the stream name is empty"},
        {"", "s", "the app is empty"},
        {"live", "a..b", "'..'"},
        {"..", "s", "'..'"},
        {"live", "../../etc/passwd", "'..'"},
        {"a//b", "s", "'//'"},
        {"live", std::string("a\0b", 3), "forbidden character"},
        {"live", "a\nb", "forbidden character"},
        {"live", "a\\b", "forbidden character"},
        {"live", std::string(257, 'x'), "257 bytes"},
        {"live", "s?" + std::string(5000, 'x'), "5000 bytes of parameters"},
        {"live", "s?a\rb", "the parameters have"},
        {"live", "s?vhost=../x", "the vhost '../x'"},
    };
    for (const Row& row : rows) {
        auto a = resolve_stream("", row.app, row.stream);
        ASSERT_FALSE(a) << row.stream;
        EXPECT_NE(a.error().text().find(row.why), std::string::npos) << a.error().text();
    }
    // A tcUrl may have any scheme or none.
    for (const char* tc_url : {"http://h/live", "webrtc://h/live", "h/live", "h:80/live?url=http://x/y"}) {
        auto address = resolve_stream(tc_url, "live", "s");
        ASSERT_TRUE(address) << tc_url;
        EXPECT_EQ(address->vhost, "h") << tc_url;
        EXPECT_EQ(address->app, "live") << tc_url;
    }
    EXPECT_FALSE(resolve_stream("http:///live", "live", "s"));
    EXPECT_EQ(resolve_stream("rtmp://h/live", "live", "s?domain=d&k=v")->vhost, "d");
    EXPECT_EQ(resolve_stream("rtmp://h/live", "live", "s?domain=d&k=v")->params, "?k=v");
    EXPECT_EQ(resolve_stream("rtmp://h/live", "live", "s?vhost=v&domain=d")->vhost, "v");
}

}  // namespace
}  // namespace rtmp
