#include "service/hls/playlists/stream_list_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace service::hls {
namespace {

using Keys = std::vector<live::StreamKey>;

TEST(StreamListText, ReadsWhatItWrote) {
    const Keys keys = {{"__defaultVhost__", "live", "livestream"}, {"v", "a/b", "s\t%25\n\x7f"}, {"", "", ""}};
    const std::string text = write_stream_list(keys);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_EQ(read_stream_list(text), keys);
}

TEST(StreamListText, PassesOverWhatIsNotWhole) {
    EXPECT_EQ(read_stream_list("v\ta\nv\ta\ts\tmore\n\nv\ta\ts\nv\ta\tcut off"), (Keys{{"v", "a", "s"}}));
    EXPECT_EQ(read_stream_list("v\ta\t%\nv\ta\t%4\nv\ta\t%4x\n"),
              (Keys{{"v", "a", "%"}, {"v", "a", "%4"}, {"v", "a", "%4x"}}));
}

TEST(StreamListText, EachOnceAndNotWithoutEnd) {
    EXPECT_EQ(read_stream_list("v\ta\ts\nv\ta\ts\n").size(), 1u);
    std::string text;
    for (size_t i = 0; i < kMaxListedStreams + 10; ++i) text += "v\ta\t" + std::to_string(i) + "\n";
    EXPECT_EQ(read_stream_list(text).size(), kMaxListedStreams);
}

}  // namespace
}  // namespace service::hls
