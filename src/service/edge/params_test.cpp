#include "service/edge/params.h"

#include <gtest/gtest.h>

#include "protocol/http/via.h"
#include "protocol/rtmp/messages.h"

namespace service::edge {
namespace {

TEST(Params, OfAClientForAnOrigin) {
    EXPECT_EQ(params_for_origin(""), "");
    EXPECT_EQ(params_for_origin("?token=x&user=1"), "?token=x&user=1");
    EXPECT_EQ(params_for_origin("?vhost=a.com&token=x&domain=b&hls_ctx=1&tracks=all&&flag"), "?token=x&flag");
    EXPECT_EQ(params_for_origin("?vhost=a.com"), "");
    EXPECT_EQ(params_for_origin("?%76host=inner&k=v&d%6Fmain=inner&%74racks=1&hls%5fctx=1&vhos%74"), "?k=v")
        << "names are compared as the origin reads them";
    EXPECT_EQ(params_for_origin("?vhost%00=inner&vhost%0a=inner&xvhost=a&%2576host=b"), "?xvhost=a&%2576host=b");
    EXPECT_EQ(params_for_origin("?a=b c"), "") << "no URL has a space";
    EXPECT_EQ(params_for_origin("?a=\r\nX"), "");
    EXPECT_EQ(params_for_origin("?" + std::string(kMaxParams + 1, 'a')), "");
}

TEST(Params, PathsHaveEachNameOnce) {
    const std::string a = new_request_name(), b = new_request_name(), c = new_request_name();
    ASSERT_NE(a, b);
    std::string path;
    add_to_path(path, a + "," + b);
    add_to_path(path, b + ",," + c + "," + a);
    EXPECT_EQ(path, a + "," + b + "," + c);
    EXPECT_TRUE(http::has_passed(path, b));
    EXPECT_FALSE(http::has_passed(path, a + "," + b));
    EXPECT_FALSE(http::has_passed(path, a.substr(1)));
    EXPECT_FALSE(http::has_passed("", a));
    for (int i = 0; i < 100; ++i) add_to_path(path, new_request_name());
    EXPECT_LE(path.size(), ::rtmp::kMaxForwardPath);
    EXPECT_TRUE(http::has_passed(path, a));
}

TEST(Params, PathsHaveNoNamesThatAnybodyKnows) {
    std::string path;
    for (const char* name : {"k3f92a0x", "cdn.example.com", "a", "0123456789abcdef0123456789abcdeX",
                             "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef0"})
        add_to_path(path, name);
    EXPECT_EQ(path, "");
}

}  // namespace
}  // namespace service::edge
