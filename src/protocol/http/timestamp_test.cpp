#include "protocol/http/timestamp.h"

#include <gtest/gtest.h>

namespace http {
namespace {

TEST(Timestamp, IsReadAndWritten) {
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(parse_timestamp("2026-01-31T23:59:59.123Z"), 1'769'903'999'123);
    EXPECT_EQ(parse_timestamp("2026-01-31T23:59:59.1Z"), 1'769'903'999'100);
    EXPECT_EQ(parse_timestamp("2026-01-31T23:59:59.123999z"), 1'769'903'999'123);
    EXPECT_EQ(parse_timestamp("2026-02-01T00:59:59.123+01:00"), 1'769'903'999'123);
    EXPECT_EQ(parse_timestamp("2026-02-01T00:59:59.123 01:00"), 1'769'903'999'123);
    EXPECT_EQ(parse_timestamp("2026-01-31T18:29:59.123-05:30"), 1'769'903'999'123);
    EXPECT_EQ(format_timestamp(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(format_timestamp(1'769'903'999'123), "2026-01-31T23:59:59.123Z");
    EXPECT_EQ(format_timestamp(1'795'871'109'042), "2026-11-28T13:05:09.042Z");
}

TEST(Timestamp, NothingElseIsOne) {
    for (const char* text :
         {"", "2026", "2026-01-31", "2026-01-31T23:59:59", "2026-01-31 23:59:59Z", "2026-02-30T00:00:00Z",
          "2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z",
          "2026-01-31T23:59:61Z", "2026-01-31T23:59:59.Z", "2026-01-31T23:59:59.123", "2026-01-31T23:59:59Zx",
          "2026-01-31T23:59:59+1:00", "2026-01-31T23:59:59+24:00", "1969-12-31T23:59:59Z", "-026-01-31T23:59:59Z"})
        EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
}

constexpr int64_t kNow = 1'769'903'999'123;

base::Result<TimeRange> range_of(const std::string& from, const std::string& to) {
    Parameters parameters{{"from", from}};
    if (!to.empty()) parameters.emplace_back("to", to);
    return time_range(parameters, kNow);
}

TEST(TimeRange, IsReadInItsThreeForms) {
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

TEST(TimeRange, RefusesTheRest) {
    for (const char* text : {"", "x", "-", "--1", "1x", "nan", "-nan", "inf", "-inf", "1e300", "0x10", "2026-01-31",
                             "2026-02-30T00:00:00Z", " 1"}) {
        EXPECT_FALSE(range_of(text, "2e9")) << text;
        EXPECT_FALSE(*text && range_of("1", text)) << text;
    }
    EXPECT_FALSE(range_of("-5", "-5"));
    EXPECT_FALSE(range_of("-5", "-6"));
    EXPECT_FALSE(range_of("2e9", ""));
    EXPECT_FALSE(time_range({}, kNow));
}

}  // namespace
}  // namespace http
