#include "service/rtc/play/link_history.h"

#include <gtest/gtest.h>

namespace service::rtc {
namespace {

using net::RtcSent;

TEST(LinkHistory, HasTheWorstOfEachWhile) {
    LinkHistory history(1'000);
    history.see(RtcSent::kHeads, 900, 40, 3, 1'000);
    history.see(RtcSent::kAll, 0, 300, 900, 9'000);
    EXPECT_EQ(history.size(), 1u);
    history.see(RtcSent::kAudio, 100'000, 20, 0, 16'000);
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history.at(0).sent, RtcSent::kHeads);
    EXPECT_EQ(history.at(0).estimate_kbps, 0) << "the last one";
    EXPECT_EQ(history.at(0).rtt_ms, 300);
    EXPECT_EQ(history.at(0).lost, 255);
    EXPECT_EQ(history.at(1).sent, RtcSent::kAudio);
    EXPECT_EQ(history.at(1).estimate_kbps, UINT16_MAX);
    EXPECT_EQ(history.at(1).lost, 0);
    EXPECT_FALSE(history.is_good());
}

TEST(LinkHistory, ForgetsAndIsGoodAgain) {
    LinkHistory history(0);
    history.see(RtcSent::kLayer, 700, 40, 0, 0);
    for (size_t i = 1; i <= LinkHistory::kEntries; ++i) {
        EXPECT_FALSE(history.is_good()) << i;
        EXPECT_EQ(history.at(0).sent, RtcSent::kLayer);
        history.see(RtcSent::kAll, 0, static_cast<uint32_t>(i), LinkHistory::kLoss - 1,
                    static_cast<int64_t>(i) * LinkHistory::kEveryMs);
    }
    EXPECT_EQ(history.size(), LinkHistory::kEntries);
    EXPECT_EQ(history.at(0).rtt_ms, 1);
    EXPECT_EQ(history.at(15).rtt_ms, 16);
    EXPECT_TRUE(history.is_good());
}

}  // namespace
}  // namespace service::rtc
