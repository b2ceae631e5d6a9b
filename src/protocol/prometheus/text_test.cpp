#include "protocol/prometheus/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace prometheus {
namespace {

TEST(MetricsText, FamiliesAndSamples) {
    Text text;
    text.family("srs_streams", Type::kGauge, "Streams.");
    text.sample(3);
    text.sample({{"vhost", "a"}, {"type", "b"}}, 0.25);
    text.family("srs_x", Type::kHistogram, "X.");
    text.part("_bucket", {{"protocol", "rtmp"}}, "0.001", 1);
    text.part("_bucket", {}, "+Inf", 2);
    text.part("_sum", {}, "", 1.5);
    EXPECT_EQ(
        text.take(),
        "# HELP srs_streams Streams.\n# TYPE srs_streams gauge\nsrs_streams 3\nsrs_streams{vhost=\"a\",type=\"b\"} "
        "0.25\n# HELP srs_x X.\n# TYPE srs_x histogram\nsrs_x_bucket{protocol=\"rtmp\",le=\"0.001\"} "
        "1\nsrs_x_bucket{le=\"+Inf\"} 2\nsrs_x_sum 1.5\n");
}

TEST(MetricsText, Values) {
    Text text;
    text.family("a", Type::kCounter, "A.");
    text.sample(1e12);
    text.sample(1e300);
    text.sample(-0.5);
    text.sample(std::numeric_limits<double>::infinity());
    text.sample(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(text.take(), "# HELP a A.\n# TYPE a counter\na 1000000000000\na 1e+300\na -0.5\na +Inf\na NaN\n");
}

TEST(MetricsText, LabelsAreEscaped) {
    EXPECT_EQ(Labels({{"a", "x\"y\\z\n"}}).text(), "a=\"x\\\"y\\\\z\\n\"");
    EXPECT_EQ(Labels({{"a", "}{,="}}).text(), "a=\"}{,=\"");
    EXPECT_EQ(Labels({{"a", "gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x98\x80"}}).text(),
              "a=\"gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x98\x80\"");
    // Invalid UTF-8 would make the whole scrape fail.
    constexpr std::string_view kBad = "\xef\xbf\xbd";
    for (std::string_view bad :
         {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe0\x80\x80"}) {
        const std::string out = Labels({{"a", bad}}).text();
        EXPECT_TRUE(out.starts_with("a=\"" + std::string(kBad))) << out;
        for (size_t i = 3; i + 1 < out.size(); i += 3) EXPECT_EQ(out.substr(i, 3), kBad);
    }
}

}  // namespace
}  // namespace prometheus
