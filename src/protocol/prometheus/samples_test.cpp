#include "protocol/prometheus/samples.h"

#include <gtest/gtest.h>

#include <limits>

namespace prometheus {
namespace {

// Nothing: a line is refused.
std::optional<Families> read(std::string_view text) {
    SampleReader reader;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!reader.read_line(line)) return std::nullopt;
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return reader.take();
}

TEST(MetricsSamples, AreReadAsWritten) {
    Text text;
    text.family("srs_a", Type::kCounter, "A.");
    text.sample(1e12);
    text.sample({{"x", "a b\"}\n"}}, 0.25);
    text.family("srs_h", Type::kHistogram, "H.");
    text.part("_bucket", {{"p", "q"}}, "+Inf", 2);
    text.part("_sum", {}, "", 1e-9);
    text.family("srs_none", Type::kGauge, "None.");
    EXPECT_EQ(read(text.take()),
              (Families{{"srs_a", {Type::kCounter, {{"", 1e12}, {"{x=\"a b\\\"}\\n\"}", 0.25}}}},
                        {"srs_h", {Type::kHistogram, {{"_bucket{p=\"q\",le=\"+Inf\"}", 2}, {"_sum", 1e-9}}}},
                        {"srs_none", {Type::kGauge, {}}}}));
}

TEST(MetricsSamples, BadLinesAreRefused) {
    for (const std::string_view text :
         {"srs_a 1", "# TYPE srs_a", "# TYPE  counter", "# TYPE srs_a counter\nsrs_b 1", "# TYPE srs_a counter\nsrs_a",
          "# TYPE srs_a counter\nsrs_a x", "# TYPE srs_a counter\nsrs_a 1x", "# TYPE srs_a counter\nsrs_a "})
        EXPECT_FALSE(read(text)) << text;
    EXPECT_FALSE(read("# " + std::string(SampleReader::kMaxLine, 'x')));
}

TEST(MetricsSamples, AreAddedWhereTheyAreWritten) {
    const Families others = {{"sum", {Type::kCounter, {{"", 5}, {"{k=\"b\"}", 1}}}},
                             {"own", {Type::kGauge, {{"", 5}, {"{k=\"b\"}", 1}}}},
                             {"more", {Type::kGauge, {{"{k=\"a\"}", 5}, {"{k=\"b\"}", 1}}}},
                             {"unknown", {Type::kCounter, {{"", 1}}}}};
    Text text;
    text.add(others, [](std::string_view name, Type) {
        return name == "sum" ? Addition::kSum : name == "more" ? Addition::kMissing : Addition::kNone;
    });
    for (const char* name : {"sum", "own", "more"}) {
        text.family(name, Type::kCounter, "Help.");
        text.sample({{"k", "a"}}, 10);
        if (std::string_view(name) != "more") text.sample(20);
    }
    EXPECT_EQ(read(text.take()), (Families{{"sum", {Type::kCounter, {{"{k=\"a\"}", 10}, {"", 25}, {"{k=\"b\"}", 1}}}},
                                           {"own", {Type::kCounter, {{"{k=\"a\"}", 10}, {"", 20}}}},
                                           {"more", {Type::kCounter, {{"{k=\"a\"}", 10}, {"{k=\"b\"}", 1}}}}}));
}

}  // namespace
}  // namespace prometheus
