#include "service/rtmp/client_info.h"

#include <gtest/gtest.h>

namespace service::rtmp {
namespace {

TEST(RtmpClientInfo, Fields) {
    ClientInfo info("live", "rtmp://h/live", "", "http://h/x.swf", "one,two");
    for (std::string_view params : {"", "?a=1", "?token=0123456789012345678901234567890123456789", "?b"}) {
        info.set_params(params);
        EXPECT_EQ(info.app(), "live");
        EXPECT_EQ(info.tc_url(), "rtmp://h/live");
        EXPECT_EQ(info.page_url(), "");
        EXPECT_EQ(info.swf_url(), "http://h/x.swf");
        EXPECT_EQ(info.params(), params);
        EXPECT_EQ(info.forward_path(), "one,two");
    }
}

TEST(RtmpClientInfo, ZeroBytesDoNotMoveFields) {
    ClientInfo info(std::string_view("a\0b", 3), "t", "p", "s");
    EXPECT_EQ(info.app(), "a\1b");
    EXPECT_EQ(info.tc_url(), "t");
}

TEST(RtmpClientInfo, Empty) {
    ClientInfo info;
    info.set_params("?x");
    EXPECT_EQ(info.app(), "");
}

}  // namespace
}  // namespace service::rtmp
