// A sender and a receiver over simulated networks.
#include <gtest/gtest.h>

#include <cstdlib>

#include "protocol/srt/network_testing.h"

namespace srt {
namespace {

using testing::LinkOptions;
using testing::Pair;
using testing::PairOptions;
using testing::Random;

double repairs_per_loss(Pair& pair) {
    return static_cast<double>(pair.sender().sender()->counters().repairs) /
           static_cast<double>(std::max<uint64_t>(pair.there().lost_data(), 1));
}

TEST(SrtNetwork, AQuietNetworkDeliversAtOnce) {
    Pair pair({.messages = 1000});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.sink().delivered(), 1000u);
    EXPECT_EQ(pair.sink().skipped(), 0u);
    EXPECT_EQ(pair.sender().sender()->counters().repairs, 0u);
    EXPECT_EQ(pair.receiver().counters().naks_out, 0u);
    EXPECT_EQ(pair.sender().sender()->in_flight(), 0);
    EXPECT_NEAR(static_cast<double>(pair.sender().round_trip().us()), 20'000, 2'000);
    EXPECT_LE(pair.receiver().counters().acks_out, 210u) << "one in 10 ms for 2 s, and none in silence";
}

// Of one direction; the round trip is 100 ms.
LinkOptions lossy(double loss, unsigned max_losses = UINT32_MAX) {
    return {.loss = loss,
            .duplicate = 0.02,
            .reorder = 0.05,
            .delay_us = 50'000,
            .jitter_us = 2'000,
            .max_losses = max_losses};
}

TEST(SrtNetwork, NothingIsSkippedWhereTheLatencyAllowsTheRepairs) {
    struct Case {
        double loss;
        unsigned max_losses;  // of a packet
        int64_t latency_us;
    };
    for (const Case& c : {Case{0.05, 1, 300'000}, Case{0.1, 1, 300'000}, Case{0.1, 2, 500'000}}) {
        Pair pair({.there = lossy(c.loss, c.max_losses),
                   .back = lossy(c.loss),
                   .latency_us = c.latency_us,
                   .messages = 10'000,
                   .interval_us = 1'000});
        pair.run();
        EXPECT_EQ(pair.violation(), "");
        EXPECT_EQ(pair.sink().skipped(), 0u) << c.loss << ", " << c.max_losses;
        EXPECT_EQ(pair.sink().delivered(), 10'000u);
        EXPECT_LT(repairs_per_loss(pair), 2) << "what is overtaken is requested, too";
    }
}

TEST(SrtNetwork, AThirdRepairComesInTimeAtFourRoundTrips) {
    Pair pair(
        {.there = lossy(0.1), .back = lossy(0.1), .latency_us = 400'000, .messages = 20'000, .interval_us = 1'000});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_LE(pair.sink().skipped(), 20u) << "three repairs have time, 2 packets of 20,000 lose four times";
    EXPECT_LT(repairs_per_loss(pair), 1.5);
}

TEST(SrtNetwork, AllNumbersWrap) {
    Pair pair({.there = lossy(0.05, 1),
               .back = lossy(0.05),
               .latency_us = 400'000,
               .messages = 4000,
               .initial_sequence = kMaxSequence - 2000,
               .first_index = kMaxMessage - 1500,
               .handshake_timestamp_us = (int64_t{1} << 32) - 3'000'000});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.sink().delivered(), 4000u);
    EXPECT_EQ(pair.receiver().receiver()->next_sequence(), int64_t{kMaxSequence} + 2000);
}

TEST(SrtNetwork, ClocksDriftByMoreThanTheLatencySpares) {
    for (const double ppm : {-100.0, 100.0}) {
        const LinkOptions link{.loss = 0.02, .delay_us = 20'000, .jitter_us = 1'000, .max_losses = 1};
        Pair pair({.there = link,
                   .back = {.delay_us = 20'000},
                   .latency_us = 80'000,
                   .messages = 15'000,
                   .interval_us = 60'000,
                   .drift_ppm = ppm});
        pair.run();
        EXPECT_EQ(pair.violation(), "");
        EXPECT_EQ(pair.sink().skipped(), 0u) << ppm;
        EXPECT_NEAR(static_cast<double>(pair.receiver().receiver()->drift_us()), 900.0 * ppm, 5'000);
    }
}

TEST(SrtNetwork, AHoleThatIsNeverFilledIsSkippedAfterTheLatency) {
    Pair pair({.there = {.delay_us = 10'000}, .back = {.loss = 1}, .messages = 1000});
    pair.run_until(pair.now_us() + 100'000);
    pair.there().options().loss = 1;
    pair.run_until(pair.now_us() + 20'000);
    pair.there().options().loss = 0;
    const int64_t begin_us = pair.now_us();
    while (pair.receiver().receiver()->missing() == 0) pair.run_until(pair.now_us() + 1'000);
    const int64_t stopped_at = pair.receiver().receiver()->next_sequence();
    pair.run_until(begin_us + 120'000);
    EXPECT_EQ(pair.receiver().receiver()->next_sequence(), stopped_at) << "neither delivered nor acknowledged";
    pair.run_until(begin_us + 140'000);
    EXPECT_GT(pair.receiver().receiver()->next_sequence(), stopped_at);
    EXPECT_EQ(pair.sink().skipped(), 10u);
    pair.run();
    EXPECT_EQ(pair.violation(), "");
}

TEST(SrtNetwork, PeersThatDoNotRepeatNaksAreSentAllAgain) {
    Pair pair({.there = {.loss = 0.05},
               .back = {.loss = 0.3},
               .latency_us = 1'000'000,
               .messages = 2000,
               .drop_too_late = true,
               .repeat_naks = false});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.sink().skipped(), 0u);
    EXPECT_EQ(pair.sink().delivered(), 2000u);
}

TEST(SrtNetwork, TheLastPacketIsRepairedThoughNothingFollows) {
    for (uint64_t seed = 1; seed < 50; ++seed) {
        Pair pair(
            {.there = {.loss = 0.3}, .back = {.loss = 0.3}, .seed = seed, .latency_us = 2'000'000, .messages = 20});
        pair.run(8'000'000);
        EXPECT_EQ(pair.violation(), "");
        EXPECT_EQ(pair.sink().delivered() + pair.sink().skipped(), 20u) << seed;
    }
}

TEST(SrtNetwork, ABacklogIsSentFasterThanTheStreamAndTimesDoNotGoBack) {
    Pair pair({.there = {.delay_us = 20'000, .bytes_per_second = 3'000'000},
               .back = {.delay_us = 20'000},
               .messages = 3000,
               .interval_us = 1'500,
               .ready_messages = 2000,
               .policy = {.stream_rate = 500'000}});
    pair.run_until(pair.now_us() + 1'700'000);
    EXPECT_GE(pair.sink().delivered(), 2'900u) << "3 s of data in 1 s, and what is added meanwhile";
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.sink().skipped(), 0u);
    EXPECT_EQ(pair.there().lost_data(), 0u) << "the queue of the link is not filled by a burst";
}

TEST(SrtNetwork, ABurstOfAFrameIsPacedByTheRateOfTheStream) {
    Pair pair({.there = {.delay_us = 20'000, .bytes_per_second = 1'500'000, .queue_us = 60'000},
               .messages = 4000,
               .interval_us = 1'500,
               .burst = 200});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.there().lost_data(), 0u);
    EXPECT_EQ(pair.sink().delivered(), 4000u);
}

TEST(SrtNetwork, AnOutageLeavesAGapThatIsCounted) {
    Pair pair({.there = {.delay_us = 20'000},
               .back = {.delay_us = 20'000},
               .messages = 12'000,
               .interval_us = 1'000,
               .history_kept = 2000});
    pair.run_until(pair.now_us() + 1'000'000);
    pair.there().options().loss = 1;
    pair.run_until(pair.now_us() + 5'000'000);
    pair.there().options().loss = 0;
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_EQ(pair.sink().delivered() + pair.sink().skipped(), 12'000u);
    EXPECT_GT(pair.sink().delivered(), 6'000u);
    EXPECT_EQ(pair.sender().sender()->in_flight(), 0);
}

TEST(SrtNetwork, ALinkThatIsTooSlowLosesWhatIsTooLate) {
    Pair pair({.there = {.delay_us = 20'000, .bytes_per_second = 200'000},
               .back = {.delay_us = 20'000},
               .messages = 10'000,
               .interval_us = 1'000,
               .policy = {.stream_rate = 500'000}});
    pair.run();
    EXPECT_EQ(pair.violation(), "");
    EXPECT_GT(pair.sink().delivered(), 1'000u);
    EXPECT_LE(pair.sender().sender()->counters().repairs * 2, pair.sender().sender()->counters().packets);
}

TEST(SrtNetwork, APeerThatIsGoneEnds) {
    Pair pair({.messages = 5000, .idle_timeout_us = 3'000'000});
    pair.run_until(pair.now_us() + 1'000'000);
    pair.there().options().loss = pair.back().options().loss = 1;
    const uint64_t sent = pair.sender().sender()->counters().packets;
    pair.run_until(pair.now_us() + 2'900'000);
    EXPECT_EQ(pair.sender().end(), Connection::End::kNone);
    pair.run_until(pair.now_us() + 200'000);
    EXPECT_EQ(pair.sender().end(), Connection::End::kIdle);
    EXPECT_EQ(pair.receiver().end(), Connection::End::kIdle);
    EXPECT_LE(pair.sender().sender()->counters().packets - sent, 8192u + 100);
}

TEST(SrtNetwork, SilenceIsKeptAliveAtALowRate) {
    Pair pair({.messages = 10, .idle_timeout_us = 3'000'000});
    pair.run(60'000'000);
    EXPECT_EQ(pair.sender().end(), Connection::End::kNone);
    EXPECT_LE(pair.sender().counters().control_out, 65u);
    EXPECT_LE(pair.receiver().counters().control_out, 70u);
}

TEST(SrtNetwork, ShutdownDeliversWhatIsBuffered) {
    Pair pair({.back = {.loss = 1}, .messages = 100});
    pair.there().options().loss = 0.1;
    pair.run_until(pair.now_us() + 150'000);
    pair.there().options().loss = 0;
    pair.run_until(pair.now_us() + 40'000);
    EXPECT_GT(pair.receiver().receiver()->buffered(), 0u);
    pair.sender().close(pair.now_us());
    pair.run_until(pair.now_us() + 50'000);
    EXPECT_EQ(pair.receiver().end(), Connection::End::kPeerShutdown);
    EXPECT_EQ(pair.receiver().receiver()->buffered(), 0u);
    EXPECT_EQ(pair.violation(), "");
}

// One run of the many below: a network by the seed.
std::string random_run(uint64_t seed) {
    Random random(seed);
    const auto percent = [&](int64_t limit) { return static_cast<double>(random.below(limit)) / 100; };
    const auto link = [&] {
        return LinkOptions{.loss = random.chance(0.2) ? percent(60) : percent(12),
                           .duplicate = percent(10),
                           .reorder = percent(30),
                           .delay_us = 1 + random.below(80'000),
                           .jitter_us = random.below(10'000),
                           .bytes_per_second = random.chance(0.2) ? 100'000 + random.below(2'000'000) : 0};
    };
    PairOptions options{.there = link(), .back = link(), .seed = seed};
    options.latency_us = 20'000 + random.below(500'000);
    options.messages = 20 + random.below(200);
    options.interval_us = 200 + random.below(20'000);
    options.burst = 1 + static_cast<int>(random.below(20));
    options.ready_messages = random.chance(0.3) ? random.below(options.messages) : 0;
    options.initial_sequence = kMaxSequence - static_cast<uint32_t>(random.below(500));
    options.first_index = kMaxMessage - random.below(400);
    options.handshake_timestamp_us = (int64_t{1} << 32) - random.below(4'000'000);
    options.drift_ppm = percent(40'000) - 200;
    options.window = random.chance(0.2) ? 16 + static_cast<uint32_t>(random.below(100)) : 8192;
    options.reorder = random.chance(0.3) ? static_cast<uint32_t>(random.below(10)) : 0;
    options.drop_too_late = random.chance(0.9);
    options.repeat_naks = random.chance(0.8);
    options.history_kept = random.chance(0.2) ? 10 + static_cast<size_t>(random.below(100)) : 4096;
    Pair pair(options);
    pair.run(2'000'000);
    // On a good network both come to an end of what there is.
    pair.there().options() = pair.back().options() = {.delay_us = 10'000};
    pair.run_until(pair.now_us() + 8'000'000);
    if (std::string violation = pair.violation(); !violation.empty()) return violation;
    const bool full = pair.receiver().end() == Connection::End::kBufferFull;
    const Sender& sender = *pair.sender().sender();
    if (!full && sender.cursor() != pair.history().end()) return "not all was sent";
    if (!full && sender.in_flight() != 0) return "not all was acknowledged";
    const int64_t passed = pair.receiver().receiver()->next_sequence() - int64_t{options.initial_sequence};
    if (!full && passed != options.messages) return "not all was delivered or skipped";
    pair.sender().close(pair.now_us());
    pair.receiver().close(pair.receiver_time(pair.now_us()));
    if (pair.sink().next() > pair.history().end()) return "more was delivered than sent";
    return pair.violation();
}

// SRT_NETWORK_RUNS: more of them; SRT_NETWORK_SEED: the first one.
TEST(SrtNetwork, RandomNetworks) {
    const char* runs = std::getenv("SRT_NETWORK_RUNS");
    const char* first = std::getenv("SRT_NETWORK_SEED");
    const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
    const uint64_t count = runs ? std::strtoull(runs, nullptr, 10) : 300;
    for (uint64_t seed = begin; seed < begin + count; ++seed) ASSERT_EQ(random_run(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace srt
