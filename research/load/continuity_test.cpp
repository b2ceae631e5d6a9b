#include "load/continuity.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace load {
namespace {

class ContinuityTest : public testing::Test {
  protected:
    // The script's message of that number, as a viewer gets it.
    void frame(uint32_t number) {
        const auto& message = script_.messages()[number];
        // What stands behind the chunk header of 12 bytes; short enough to be one chunk.
        auto bytes = script_.encode(number, 0, 1).subspan(12);
        continuity_.on_frame(message.type, bytes.first(std::min<size_t>(bytes.size(), 64)));
    }
    void frames(uint32_t from, uint32_t to) {
        for (uint32_t i = from; i < to; ++i) frame(i);
    }
    Script script_ = Script::marked(237, 2);
    uint32_t end_ = static_cast<uint32_t>(script_.messages().size());
    Continuity continuity_ = Continuity::of(script_);
};

TEST_F(ContinuityTest, WholeOverTheEndOfTheScript) {
    frames(end_ - 5, end_);
    frames(script_.repeat_from(), end_);
    frames(script_.repeat_from(), 10);
    EXPECT_TRUE(continuity_.whole());
    EXPECT_EQ(continuity_.frames(), 5 + end_ - script_.repeat_from() + 10 - script_.repeat_from());
}

TEST_F(ContinuityTest, OneLeftOut) {
    frames(10, 20);
    frames(21, 30);
    EXPECT_FALSE(continuity_.whole());
    EXPECT_EQ(continuity_.breaks(), 1u);
    EXPECT_EQ(continuity_.missing(), 1u);
}

TEST_F(ContinuityTest, SomeLeftOutAtTheEnd) {
    frames(10, end_ - 3);
    frames(script_.repeat_from(), 20);
    EXPECT_EQ(continuity_.missing(), 3u);
}

TEST_F(ContinuityTest, OneTwiceAndOneOfElsewhere) {
    frames(10, 20);
    frame(19);
    EXPECT_EQ(continuity_.breaks(), 1u);
    const uint8_t other[16] = {0x27, 1};
    continuity_.on_frame(9, other);
    EXPECT_EQ(continuity_.foreign(), 1u);
}

}  // namespace
}  // namespace load
