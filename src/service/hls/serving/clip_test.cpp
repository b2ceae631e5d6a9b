#include "service/hls/serving/clip.h"

#include <gtest/gtest.h>

namespace service::hls {
namespace {

constexpr int64_t kNow = 1'769'903'999'123;

base::Result<ClipRange> range_of(const std::string& from, const std::string& to) {
    http::Parameters parameters{{"from", from}};
    if (!to.empty()) parameters.emplace_back("to", to);
    return clip_range(parameters, kNow);
}

TEST(ClipRange, IsReadInItsThreeForms) {
    const auto ago = range_of("-60", "");
    ASSERT_TRUE(ago);
    EXPECT_EQ(ago->from_ms, kNow - 60'000);
    EXPECT_EQ(ago->to_ms, kNow);
    const auto between = range_of("-60.5", "-0.25");
    ASSERT_TRUE(between);
    EXPECT_EQ(between->from_ms, kNow - 60'500);
    EXPECT_EQ(between->to_ms, kNow - 250);
    const auto absolute = range_of("1769903000", "1769903001.5");
    ASSERT_TRUE(absolute);
    EXPECT_EQ(absolute->from_ms, 1'769'903'000'000);
    EXPECT_EQ(absolute->to_ms, 1'769'903'001'500);
    const auto dates = range_of("2026-01-31T23:59:58Z", "2026-02-01T00:59:59+01:00");
    ASSERT_TRUE(dates);
    EXPECT_EQ(dates->from_ms, 1'769'903'998'000);
    EXPECT_EQ(dates->to_ms, 1'769'903'999'000);
}

TEST(ClipRange, RefusesTheRest) {
    for (const char* text : {"", "x", "-", "--1", "1x", "nan", "-nan", "inf", "-inf", "1e300", "0x10", "2026-01-31",
                             "2026-02-30T00:00:00Z", " 1"}) {
        EXPECT_FALSE(range_of(text, "2e9")) << text;
        EXPECT_FALSE(*text && range_of("1", text)) << text;
    }
    EXPECT_FALSE(range_of("-5", "-5"));
    EXPECT_FALSE(range_of("-5", "-6"));
    EXPECT_FALSE(range_of("2e9", ""));
    EXPECT_FALSE(clip_range({}, kNow));
}

}  // namespace
}  // namespace service::hls
