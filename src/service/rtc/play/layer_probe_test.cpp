#include "service/rtc/play/layer_probe.h"

#include <gtest/gtest.h>

namespace service::rtc {
namespace {

using Result = LayerProbe::Result;

// Sends all that is due each 10 ms, to the end of the pulse. Returns the time and the bytes.
std::pair<int64_t, size_t> send_pulse(LayerProbe& probe, int64_t now_ms) {
    size_t bytes = 0;
    for (;; now_ms += 10) {
        const size_t due = probe.due(now_ms);
        probe.on_sent(due);
        bytes += due;
        if (probe.ends_pulse(now_ms)) break;
    }
    EXPECT_FALSE(probe.ends_pulse(now_ms)) << "once";
    return {now_ms, bytes};
}

TEST(LayerProbe, PassesAfterTwoPulsesWithoutAQueue) {
    LayerProbe probe(800, 1'000);
    EXPECT_EQ(probe.result(true, true, 1'000), Result::kOpen) << "what is measured before its end is not of it";
    const auto [first_ms, first_bytes] = send_pulse(probe, 1'010);
    EXPECT_EQ(first_ms, 1'050);
    EXPECT_EQ(first_bytes, 5'000u) << "800 kbit/s for 50 ms";
    EXPECT_EQ(probe.result(false, true, 1'100), Result::kOpen);
    EXPECT_EQ(probe.result(true, false, 1'100), Result::kNextPulse);
    probe.begin_next_pulse(1'100);
    EXPECT_EQ(probe.result(true, true, 1'100), Result::kOpen);
    const auto [second_ms, second_bytes] = send_pulse(probe, 1'110);
    EXPECT_EQ(second_ms, 1'400);
    EXPECT_EQ(second_bytes, 30'000u);
    EXPECT_EQ(probe.result(true, false, 1'500), Result::kOpen) << "the client's estimate may fall still";
    EXPECT_EQ(probe.result(true, false, 1'800), Result::kPassed);
}

TEST(LayerProbe, FailsByAQueueAfterEitherPulse) {
    LayerProbe probe(800, 1'000);
    (void)send_pulse(probe, 1'010);
    EXPECT_EQ(probe.result(true, true, 1'100), Result::kFailed);
    probe.begin_next_pulse(1'100);
    (void)send_pulse(probe, 1'110);
    EXPECT_EQ(probe.result(false, true, 1'500), Result::kOpen) << "the queue is of before";
    EXPECT_EQ(probe.result(true, true, 1'500), Result::kFailed);
}

TEST(LayerProbe, AClientThatReportsLittleIsNotWaitedFor) {
    LayerProbe probe(800, 1'000);
    const int64_t first_ms = send_pulse(probe, 1'010).first;
    EXPECT_EQ(probe.result(false, false, first_ms + 899), Result::kOpen);
    EXPECT_EQ(probe.result(false, false, first_ms + 900), Result::kNextPulse);
    probe.begin_next_pulse(2'000);
    const int64_t second_ms = send_pulse(probe, 2'010).first;
    EXPECT_EQ(probe.result(false, false, second_ms + 900), Result::kPassed);
}

// The loop may have been busy: no more is due than the pulse has.
TEST(LayerProbe, IsNeverMoreThanItsPulse) {
    LayerProbe probe(800, 1'000);
    EXPECT_EQ(probe.due(900), 0u);
    EXPECT_EQ(probe.due(60'000), 5'000u);
    probe.on_sent(6'000);
    EXPECT_EQ(probe.due(60'000), 0u);
}

}  // namespace
}  // namespace service::rtc
