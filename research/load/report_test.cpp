#include "load/report.h"

#include <gtest/gtest.h>

namespace load {
namespace {

TEST(Report, TableAndJsonSayTheSame) {
    Report report;
    Ledger ledger;
    ledger.opened = 3;
    ledger.failed = 2;
    ledger.count_reason("opening", base::Error(base::Code::kProtocol, "no"));
    ledger.count_reason("opening", base::Error(base::Code::kProtocol, "no"));
    report.add_ledger(ledger, 5);
    Histogram times;
    for (int i = 1; i <= 100; ++i) times.add(i * 1000);
    report.add_times("first_frame_ms", times);
    report.add("mbit_per_s", 2.5, "2.50");
    auto parsed = nlohmann::json::parse(report.json(), nullptr, false);
    EXPECT_EQ(parsed["connected"], 3);
    EXPECT_EQ(parsed["stream_errors"], 2);
    EXPECT_EQ(parsed["reasons"]["opening: no"], 2);
    EXPECT_NEAR(parsed["first_frame_ms"]["p50"].get<double>(), 50, 1);
    EXPECT_EQ(parsed["first_frame_ms"]["max"], 100);
    EXPECT_NE(report.table().find("2 x opening: no"), std::string::npos);
    EXPECT_NE(report.table().find("mbit per s"), std::string::npos);
}

TEST(Ledger, KeepsABoundedNumberOfReasons) {
    Ledger ledger;
    for (int i = 0; i < 1000; ++i) ledger.count_reason("x", base::Error(base::Code::kOther, std::to_string(i)));
    EXPECT_LE(ledger.reasons.size(), Ledger::kMaxReasons + 1);
    EXPECT_EQ(ledger.reasons["others"], 1000 - Ledger::kMaxReasons);
}

}  // namespace
}  // namespace load
