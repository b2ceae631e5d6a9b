#include "service/alerts/alert_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace service::alerts {
namespace {

class AlertBookTest : public testing::Test {
  protected:
    // Looks once, now_ms after the beginning; the changes as text.
    std::string look(const std::vector<Finding>& findings, int64_t now_ms) {
        std::string changes;
        book_.look(findings, now_ms, 1'000'000 + now_ms, [&](const Alert& alert) {
            changes += fmt::format("{}{}:{} ", alert.cleared_ms ? "-" : "+", alert_name(alert.kind), alert.stream.name);
        });
        return changes;
    }
    static Finding stream(AlertKind kind, const std::string& name) {
        return {.kind = kind, .stream = {"v", "a", name}};
    }

    AlertBook book_;
};

TEST_F(AlertBookTest, IsToldWhenItBeginsAndWhenItIsOver) {
    const Finding disk{.kind = AlertKind::kDisk, .text = "two files", .figure = 2};
    EXPECT_EQ(look({disk}, 0), "+disk: ");
    EXPECT_EQ(look({disk}, 5'000), "");
    ASSERT_EQ(book_.lasting().size(), 1u);
    EXPECT_EQ(book_.lasting()[0]->raised_ms, 1'000'000);
    EXPECT_EQ(look({}, 10'000), "-disk: ");
    EXPECT_TRUE(book_.lasting().empty());
    ASSERT_EQ(book_.ended().size(), 1u);
    EXPECT_EQ(book_.ended()[0].cleared_ms, 1'010'000);
    EXPECT_EQ(book_.ended()[0].text, "two files");
    EXPECT_EQ(look({disk}, 15'000), "+disk: ") << "another one";
}

TEST_F(AlertBookTest, AKeyframeIntervalMustLast) {
    const Finding rare = stream(AlertKind::kKeyframeInterval, "s");
    EXPECT_EQ(look({rare}, 0), "");
    EXPECT_EQ(look({rare}, AlertBook::kHoldMs - 1), "");
    EXPECT_TRUE(book_.lasting().empty());
    EXPECT_EQ(look({}, AlertBook::kHoldMs - 1), "") << "what was never told is never over";
    EXPECT_EQ(look({rare}, AlertBook::kHoldMs), "") << "it begins anew";
    EXPECT_EQ(look({rare}, 2 * AlertBook::kHoldMs), "+keyframe-interval:s ");
}

TEST_F(AlertBookTest, StreamsAndCertificatesAreApart) {
    const Finding one{.kind = AlertKind::kCertificate, .about = "rtmps"},
        other{.kind = AlertKind::kCertificate, .about = "https"};
    EXPECT_EQ(look({stream(AlertKind::kPublisherGone, "a"), stream(AlertKind::kPublisherGone, "b"), one, other}, 0),
              "+publisher-gone:a +publisher-gone:b +certificate: +certificate: ");
    EXPECT_EQ(look({stream(AlertKind::kPublisherGone, "b"), other}, 5'000), "-publisher-gone:a -certificate: ");
}

TEST_F(AlertBookTest, IsBounded) {
    std::vector<Finding> many;
    for (size_t i = 0; i < AlertBook::kMaxLasting + 10; ++i)
        many.push_back(stream(AlertKind::kPublisherGone, std::to_string(i)));
    look(many, 0);
    EXPECT_EQ(book_.lasting().size(), AlertBook::kMaxLasting);
    EXPECT_EQ(book_.left_out(), 10u);
    many.push_back({.kind = AlertKind::kDisk});
    EXPECT_EQ(look(many, 1'000), "+disk: ") << "what clients cause does not hide what is wrong at the server";
    EXPECT_EQ(book_.lasting().size(), AlertBook::kMaxLasting + 1);
    look({}, 5'000);
    EXPECT_EQ(book_.ended().size(), AlertBook::kMaxEnded);
}

TEST_F(AlertBookTest, TheClockMayBeSetBack) {
    const Finding disk{.kind = AlertKind::kDisk};
    look({disk}, 0);
    book_.look({}, 5'000, 1'000, [](const Alert&) {});
    EXPECT_GT(book_.ended()[0].cleared_ms, book_.ended()[0].raised_ms);
}

TEST(Growth, OfFiveMinutes) {
    Growth growth;
    EXPECT_EQ(growth.add(1'000, 0), 0u) << "what was before the first look does not count";
    EXPECT_EQ(growth.add(1'010, 5'000), 10u);
    EXPECT_EQ(growth.add(1'010, Growth::kWindowMs), 10u);
    EXPECT_EQ(growth.add(1'010, Growth::kWindowMs + 5'000), 0u);
    EXPECT_EQ(growth.add(1'020, 10 * Growth::kWindowMs), 10u) << "after a pause of the process";
}

}  // namespace
}  // namespace service::alerts
