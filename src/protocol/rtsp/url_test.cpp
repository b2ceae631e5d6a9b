#include "protocol/rtsp/url.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rtsp {
namespace {

std::string parts_of(std::string_view url) {
    auto source = parse_url(url);
    if (!source) return source.error().text();
    return fmt::format("{} {} {} {} [{}] [{}]", source->tls ? "tls" : "plain", source->host, source->port, source->url,
                       source->credentials.user, source->credentials.password);
}

TEST(RtspUrl, Parts) {
    EXPECT_EQ(parts_of("rtsp://cam/s"), "plain cam 554 rtsp://cam/s [] []");
    EXPECT_EQ(parts_of("rtsps://cam:8322/s?x=1"), "tls cam 8322 rtsps://cam:8322/s?x=1 [] []");
    EXPECT_EQ(parts_of("RTSP://u:p%40%3a@[::1]:8554/a"), "plain ::1 8554 RTSP://[::1]:8554/a [u] [p@:]");
    EXPECT_EQ(parts_of("rtsp://u@cam/s"), "plain cam 554 rtsp://cam/s [u] []");
    EXPECT_EQ(parts_of("rtsp://u:a@b@cam/s"), "plain cam 554 rtsp://cam/s [u] [a@b]");
}

TEST(RtspUrl, BadOnesAreRefusedWithoutTheirPassword) {
    for (const char* url :
         {"http://u:secret@h/s", "rtsp://u:secret@/s", "rtsp://u:secret@h:0/s", "rtsp://u:secret@h:x/s",
          "rtsp://u:secret@h:65536/s", "rtsp://u:secret@[::1/s", "rtsp://u:secret%@h/s", "rtsp://u:secret@h/a\r\nX: y",
          "rtsp://u:secret@h/a b", "", "rtsp", "://h/s"}) {
        auto source = parse_url(url);
        ASSERT_FALSE(source) << url;
        EXPECT_EQ(source.error().code(), base::Code::kConfig) << url;
        EXPECT_EQ(source.error().text().find("secret"), std::string::npos) << source.error().text();
    }
}

TEST(RtspUrl, ARedirectTakesTheCredentialsToItsOwnHostAndPortAlone) {
    const Url plain = *parse_url("rtsp://u:p@cam/s"), secure = *parse_url("rtsps://u:p@cam/s");
    EXPECT_EQ(redirected(plain, "rtsp://CAM:554/t")->credentials.password, "p");
    EXPECT_EQ(redirected(plain, "rtsps://cam:554/t")->credentials.password, "p");
    EXPECT_EQ(redirected(plain, "rtsp://cam:8554/t")->credentials.password, "") << "another server of the host";
    EXPECT_EQ(redirected(plain, "rtsps://cam/t")->credentials.password, "");
    EXPECT_EQ(redirected(plain, "rtsp://other/t")->credentials.user, "");
    EXPECT_EQ(redirected(plain, "rtsp://x:y@other/t")->credentials.password, "") << "not those of the peer either";
    EXPECT_EQ(redirected(secure, "rtsp://cam/t")->credentials.user, "");
    EXPECT_FALSE(redirected(plain, "http://cam/t"));
}

}  // namespace
}  // namespace rtsp
