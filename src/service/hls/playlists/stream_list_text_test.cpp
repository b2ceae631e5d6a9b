#include "service/hls/playlists/stream_list_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace service::hls {
namespace {

using Streams = std::vector<ListedStream>;

TEST(StreamListText, ReadsWhatItWrote) {
    const Streams streams = {{{"__defaultVhost__", "live", "livestream"}},
                             {{"v", "a/b", "s\t%25\n\x7f"}},
                             {{"", "", ""}},
                             {{"v", "a", "in memory"}, 4711}};
    const std::string text = write_stream_list(streams);
    EXPECT_EQ(std::ranges::count(text, '\n'), 4);
    EXPECT_EQ(read_stream_list(text), streams);
}

TEST(StreamListText, PassesOverWhatIsNotWhole) {
    EXPECT_EQ(read_stream_list("v\ta\nv\ta\ts\tmore\n\nv\ta\ts\nv\ta\tcut off"), (Streams{{{"v", "a", "s"}}}));
    EXPECT_EQ(read_stream_list("v\ta\t%\nv\ta\t%4\nv\ta\t%4x\n"),
              (Streams{{{"v", "a", "%"}}, {{"v", "a", "%4"}}, {{"v", "a", "%4x"}}}));
    EXPECT_EQ(read_stream_list("v\ta\ts\t\nv\ta\ts\t-1\nv\ta\ts\t1x\nv\ta\ts\t99999999999999999999\n"), Streams{});
}

TEST(StreamListText, EachOnceAndNotWithoutEnd) {
    EXPECT_EQ(read_stream_list("v\ta\ts\nv\ta\ts\n").size(), 1u);
    std::string text;
    for (size_t i = 0; i < kMaxListedStreams + 10; ++i) text += "v\ta\t" + std::to_string(i) + "\n";
    EXPECT_EQ(read_stream_list(text).size(), kMaxListedStreams);
}

}  // namespace
}  // namespace service::hls
