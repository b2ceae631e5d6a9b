#include "service/hls/roll_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace service::hls {
namespace {

using Keys = std::vector<live::StreamKey>;

TEST(RollText, ReadsWhatItWrote) {
    const Keys keys = {{"__defaultVhost__", "live", "livestream"}, {"v", "a/b", "s\t%25\n\x7f"}, {"", "", ""}};
    const std::string text = write_roll(keys);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_EQ(read_roll(text), keys);
}

TEST(RollText, PassesOverWhatIsNotWhole) {
    EXPECT_EQ(read_roll("v\ta\nv\ta\ts\tmore\n\nv\ta\ts\nv\ta\tcut off"), (Keys{{"v", "a", "s"}}));
    EXPECT_EQ(read_roll("v\ta\t%\nv\ta\t%4\nv\ta\t%4x\n"),
              (Keys{{"v", "a", "%"}, {"v", "a", "%4"}, {"v", "a", "%4x"}}));
}

TEST(RollText, EachOnceAndNotWithoutEnd) {
    EXPECT_EQ(read_roll("v\ta\ts\nv\ta\ts\n").size(), 1u);
    std::string text;
    for (size_t i = 0; i < kMostOnRoll + 10; ++i) text += "v\ta\t" + std::to_string(i) + "\n";
    EXPECT_EQ(read_roll(text).size(), kMostOnRoll);
}

}  // namespace
}  // namespace service::hls
