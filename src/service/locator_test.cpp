#include "service/locator.h"

#include <gtest/gtest.h>

namespace service {
namespace {

TEST(Locator, RtmpRedirects) {
    const base::StreamKey plain{"__defaultVhost__", "live", "s"}, other{"v.com", "a/b", "s"};
    EXPECT_EQ(rtmp_redirect("rtmp://b:1936", plain, ""), "rtmp://b:1936/live/s");
    EXPECT_EQ(rtmp_redirect("rtmp://b:1936", plain, "?k=v"), "rtmp://b:1936/live/s?k=v");
    EXPECT_EQ(rtmp_redirect("rtmps://[::1]", other, ""), "rtmps://[::1]/a/b/s?vhost=v.com");
    EXPECT_EQ(rtmp_redirect("rtmp://b", other, "?k=v"), "rtmp://b/a/b/s?vhost=v.com&k=v");
    EXPECT_EQ(rtmp_redirect("rtmp://b", other, "?k=v&vhost=v.com"), "rtmp://b/a/b/s?vhost=v.com&k=v");
    EXPECT_EQ(rtmp_redirect("rtmp://b", other, "?xvhost=a"), "rtmp://b/a/b/s?vhost=v.com&xvhost=a");
}

TEST(Locator, HttpRedirects) {
    http::Request request;
    request.path = "/live/s.flv";
    EXPECT_EQ(http_redirect("http://b:8080", request, "__defaultVhost__"), "http://b:8080/live/s.flv");
    request.raw_query = "token=a%20b";
    EXPECT_EQ(http_redirect("http://b:8080", request, "__defaultVhost__"), "http://b:8080/live/s.flv?token=a%20b");
    // The vhost came from the Host field, which is another one then.
    EXPECT_EQ(http_redirect("http://b", request, "v.com"), "http://b/live/s.flv?vhost=v.com&token=a%20b");
    request.raw_query = "domain=v.com";
    EXPECT_EQ(http_redirect("http://b", request, "v.com"), "http://b/live/s.flv?vhost=v.com");
    request.raw_query = "%76host=inner&k=v&d%6Fmain=inner";
    EXPECT_EQ(http_redirect("http://b", request, "v.com"), "http://b/live/s.flv?vhost=v.com&k=v");
    EXPECT_EQ(http_redirect("http://b", request, "__defaultVhost__"), "http://b/live/s.flv?k=v");
    request.raw_query.clear();
    request.path = "//evil/a b\r\nX: y.flv";
    EXPECT_EQ(http_redirect("http://b", request, "__defaultVhost__"), "http://b//evil/a%20b%0D%0AX%3A%20y.flv");
}

}  // namespace
}  // namespace service
