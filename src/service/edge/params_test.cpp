#include "service/edge/params.h"

#include <gtest/gtest.h>

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
    std::string path;
    add_to_path(path, "a,b");
    add_to_path(path, "b,,c,a");
    EXPECT_EQ(path, "a,b,c");
    EXPECT_TRUE(has_name(path, "b"));
    EXPECT_FALSE(has_name(path, "a,b"));
    EXPECT_FALSE(has_name("ab", "a"));
    EXPECT_FALSE(has_name("", "a"));
    for (int i = 0; i < 1000; ++i) add_to_path(path, "name" + std::to_string(i));
    EXPECT_LE(path.size(), ::rtmp::kMaxForwardPath);
}

}  // namespace
}  // namespace service::edge
