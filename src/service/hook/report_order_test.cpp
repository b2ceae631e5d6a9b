#include "service/hook/report_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace service::hook {
namespace {

constexpr uint64_t kStream = 1, kOtherStream = 2, kA = 11, kB = 12, kC = 13;

class ReportOrderTest : public ::testing::Test {
  protected:
    // Its name is added to `ready` when it may be sent.
    OrderedReport& add(const char* name, uint64_t stream, bool is_shared, uint64_t client) {
        Named& report = reports_.emplace_back();
        report.name = name;
        report.positions = {{{stream, is_shared}, {client, false}}};
        if (order_.add(report)) ready_ += name;
        return report;
    }
    void done(const OrderedReport& report) {
        for (const OrderedReport* freed : order_.done(report)) ready_ += static_cast<const Named*>(freed)->name;
    }
    std::string ready() { return std::exchange(ready_, {}); }

    struct Named : OrderedReport {
        std::string name;
    };
    std::deque<Named> reports_;
    std::string ready_;
    ReportOrder order_;
};

TEST_F(ReportOrderTest, OneAfterTheOtherOfAStreamAndOfAClient) {
    auto& a1 = add("a1", kStream, false, kA);
    auto& a2 = add("a2", kStream, false, kA);
    auto& a3 = add("a3", 0, false, kA);  // on_close
    auto& b1 = add("b1", kOtherStream, false, kB);
    EXPECT_EQ(ready(), "a1b1");
    done(b1);
    EXPECT_EQ(ready(), "");
    done(a1);
    EXPECT_EQ(ready(), "a2");
    done(a2);
    EXPECT_EQ(ready(), "a3");
    done(a3);
    EXPECT_EQ(order_.sequences(), 0u);
}

TEST_F(ReportOrderTest, TheEndsOfPlayersDoNotWaitForEachOther) {
    auto& before = add("p", kStream, false, kA);
    auto& x = add("x", kStream, true, kB);
    auto& y = add("y", kStream, true, kC);
    auto& after = add("q", kStream, false, kA);
    add("z", kStream, true, kB);
    EXPECT_EQ(ready(), "p");
    done(before);
    EXPECT_EQ(ready(), "xy");
    done(y);
    EXPECT_EQ(ready(), "") << "x is not done";
    done(x);
    EXPECT_EQ(ready(), "q");
    done(after);
    EXPECT_EQ(ready(), "z");
}

TEST_F(ReportOrderTest, AReportNeverWaitsForItself) {
    auto& one = add("1", kStream, false, kStream);
    EXPECT_EQ(ready(), "1");
    add("2", 0, false, 0);
    EXPECT_EQ(ready(), "2") << "without a sequence there is no order";
    done(one);
    EXPECT_EQ(order_.sequences(), 0u);
}

TEST_F(ReportOrderTest, BothSequencesCount) {
    auto& stream = add("s", kStream, false, kA);
    auto& client = add("c", 0, false, kB);
    auto& both = add("b", kStream, false, kB);
    EXPECT_EQ(ready(), "sc");
    done(stream);
    EXPECT_EQ(ready(), "");
    done(client);
    EXPECT_EQ(ready(), "b");
    done(both);
    EXPECT_EQ(order_.sequences(), 0u);
}

}  // namespace
}  // namespace service::hook
