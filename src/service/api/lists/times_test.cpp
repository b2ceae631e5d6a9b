#include "service/api/lists/times.h"

#include <gtest/gtest.h>

namespace service::api {
namespace {

TEST(Times, AreReadInSeveralForms) {
    constexpr int64_t kNow = 1'795'986'184'123;  // 2026-11-29T21:03:04Z
    const struct {
        const char* text;
        int64_t ms;
    } rows[] = {{"0", 0},
                {"1795986184", 1'795'986'184'000},
                {"1795986184123", kNow},
                {"2026-11-29T21:03:04Z", 1'795'986'184'000},
                {"2026-11-29T21:03Z", 1'795'986'180'000},
                {"2026-11-29Z", 1'795'910'400'000},
                {"-0s", kNow},
                {"-90s", kNow - 90'000},
                {"-15m", kNow - 900'000},
                {"-12h", kNow - 43'200'000},
                {"-7d", kNow - 604'800'000}};
    for (const auto& row : rows) EXPECT_EQ(parse_time(row.text, kNow), row.ms) << row.text;
    EXPECT_TRUE(parse_time("2026-11-29T21:03", kNow)) << "in the server's time zone";
    for (const char* bad : {"", "-", "-h", "-1", "-1w", "-1x2h", "x", "1x", "-99999999999999999999h", "2026-13-01Z",
                            "2026-11-29T25:00Z", "2026-11-29T21:03:04+01:00", "29.11.2026", "999999999999999999", "Z"})
        EXPECT_FALSE(parse_time(bad, kNow)) << bad;
}

TEST(Times, Days) {
    EXPECT_EQ(parse_day("2026-11-29"), 20261129);
    EXPECT_EQ(parse_day("20261129"), 20261129);
    for (const char* bad : {"", "2026-11-2", "2026-1129", "20261329", "20261100", "2026-11-xx", "x", "2026/11/29"})
        EXPECT_FALSE(parse_day(bad)) << bad;
}

}  // namespace
}  // namespace service::api
