#include "service/rtmp/client_info.h"

#include <gtest/gtest.h>

#include <string>

namespace service::rtmp {
namespace {

TEST(RtmpClientInfo, Fields) {
    ClientInfo info({"live", "rtmp://h/live", "", "http://h/x.swf", "one,two"});
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

TEST(RtmpClientInfo, SameWordsAreShared) {
    const ClientInfo one({"live", "rtmp://h/live"}), same({"live", "rtmp://h/live"});
    EXPECT_EQ(one.app().data(), same.app().data());
    ClientInfo other({"live", "rtmp://h/other"});
    EXPECT_NE(one.app().data(), other.app().data());
    other = ClientInfo({"live", "rtmp://h/live"});
    other.set_params("?token=other");
    EXPECT_EQ(one.app().data(), other.app().data());
    EXPECT_EQ(one.params(), "");
    // Whatever the number of clients in between.
    for (int i = 0; i < 1000; ++i) {
        const std::string url = "rtmp://h/" + std::to_string(i);
        const ClientInfo another({"live", url});
        EXPECT_EQ(another.tc_url(), url);
    }
    EXPECT_EQ(one.tc_url(), "rtmp://h/live");
    const std::string long_url(5000, 'x');
    EXPECT_EQ(ClientInfo({"live", long_url}).tc_url(), long_url);
}

TEST(RtmpClientInfo, AZeroByteIsAByte) {
    ClientInfo info({std::string("a\0b", 3), "t", "p", "s"});
    EXPECT_EQ(info.app().size(), 3u);
    EXPECT_EQ(info.tc_url(), "t");
}

TEST(RtmpClientInfo, Empty) {
    ClientInfo info;
    EXPECT_EQ(info.app(), "");
    EXPECT_EQ(info.params(), "");
    info.set_params("?x");
    EXPECT_EQ(info.app(), "");
}

}  // namespace
}  // namespace service::rtmp
