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
    EXPECT_EQ(format_timestamp(1'769'903'999'123), "2026-01-31T23:59:59.123Z");
}

TEST(Timestamp, NothingElseIsOne) {
    for (const char* text :
         {"", "2026", "2026-01-31", "2026-01-31T23:59:59", "2026-01-31 23:59:59Z", "2026-02-30T00:00:00Z",
          "2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z",
          "2026-01-31T23:59:61Z", "2026-01-31T23:59:59.Z", "2026-01-31T23:59:59.123", "2026-01-31T23:59:59Zx",
          "2026-01-31T23:59:59+1:00", "2026-01-31T23:59:59+24:00", "1969-12-31T23:59:59Z", "-026-01-31T23:59:59Z"})
        EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
}

}  // namespace
}  // namespace http
