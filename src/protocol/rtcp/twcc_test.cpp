// Transport-wide feedback: hand-written bytes, and the output of the collector read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "protocol/rtcp/rtcp_testing.h"
#include "protocol/rtcp/twcc_collector.h"

namespace rtcp {
namespace {

using Arrivals = std::vector<std::pair<uint16_t, std::optional<int64_t>>>;

Bytes feedback(Bytes body) {
    body.resize((body.size() + 3) / 4 * 4);
    Bytes out(12 + body.size());
    base::put_u32(out.data(), 0x8fcd0000 | static_cast<uint32_t>(2 + body.size() / 4));
    base::put_u32(base::put_u32(&out[4], 1), 2);
    std::ranges::copy(body, out.begin() + 12);
    return out;
}

Arrivals arrivals(const Bytes& datagram) {
    Notes notes;
    Parsed parsed = parse(datagram, notes);
    EXPECT_TRUE(parsed.framed && parsed.malformed == 0);
    return notes.arrivals;
}

constexpr std::nullopt_t kLost = std::nullopt;

TEST(TransportFeedback, ARunAndItsTimes) {
    // From 65535, three packets, reference 1 (64 ms), feedback 7; a run of three small deltas: 4, 0, 255.
    Bytes bytes = feedback({0xff, 0xff, 0, 3, 0, 0, 1, 7, 0x20, 0x03, 4, 0, 255});
    EXPECT_EQ(read(bytes), "twcc 1 2 from 65535 count 3 reference 1 feedback 7");
    EXPECT_EQ(arrivals(bytes), (Arrivals{{65'535, 65'000}, {0, 65'000}, {1, 128'750}}));
}

TEST(TransportFeedback, VectorsOfOneAndTwoBits) {
    // One bit: received, lost, received, then eleven beyond the count.
    EXPECT_EQ(arrivals(feedback({0, 5, 0, 3, 0, 0, 0, 0, 0xa8 | 0x00, 0x00, 1, 2})),
              (Arrivals{{5, 250}, {6, kLost}, {7, 750}}));
    // Two bits: small, lost, large (-2).
    EXPECT_EQ(arrivals(feedback({0, 5, 0, 3, 0, 0, 0, 0, 0xd2, 0x00, 8, 0xff, 0xfe})),
              (Arrivals{{5, 2000}, {6, kLost}, {7, 1500}}));
}

TEST(TransportFeedback, ANegativeReference) {
    Bytes bytes = feedback({0, 5, 0, 1, 0xff, 0xff, 0xff, 0, 0x20, 0x01, 0});
    EXPECT_EQ(arrivals(bytes), (Arrivals{{5, -64'000}}));
}

TEST(TransportFeedback, WhatDoesNotAddUpIsRefused) {
    struct {
        const char* what;
        Bytes body;
    } rows[] = {
        {"no packets", {0, 5, 0, 0, 0, 0, 0, 0, 0x20, 0x01, 0}},
        {"no chunk", {0, 5, 0, 1, 0, 0, 0, 0}},
        {"chunks of fewer packets", {0, 5, 0, 4, 0, 0, 0, 0, 0x20, 0x03, 1, 1}},
        {"a run of nothing", {0, 5, 0, 1, 0, 0, 0, 0, 0x20, 0, 0x20, 0}},
        {"a time is missing", {0, 5, 0, 5, 0, 0, 0, 0, 0x20, 0x05, 1, 1}},
        {"half a large time", {0, 5, 0, 2, 0, 0, 0, 0, 0x40, 0x02, 1, 1}},
        {"the reserved symbol", {0, 5, 0, 1, 0, 0, 0, 0, 0x60, 0x01, 1, 1}},
        {"65,535 packets in eight runs",
         {0,    5,    0xff, 0xff, 0,    0,    0,    0,    0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff,
          0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0,    0}},
    };
    for (const auto& row : rows) EXPECT_EQ(read(feedback(row.body)), "malformed 1") << row.what;
}

// All feedback of the collector, at most `size` bytes a packet.
Arrivals collect(TwccCollector& collector, size_t size = 1200) {
    Arrivals all;
    while (true) {
        Bytes memory(size);
        Writer writer(memory);
        if (!collector.write(1, 2, writer)) return all;
        auto some = arrivals(Bytes(writer.written().begin(), writer.written().end()));
        all.insert(all.end(), some.begin(), some.end());
    }
}

TEST(TwccCollector, SaysWhatCameAndWhen) {
    TwccCollector collector;
    EXPECT_FALSE(collector.has_news());
    collector.on_packet(65'534, 1'000'000);
    collector.on_packet(65'535, 1'000'300);
    collector.on_packet(2, 1'100'000);
    EXPECT_TRUE(collector.has_news());
    EXPECT_EQ(collect(collector),
              (Arrivals{{65'534, 1'000'000}, {65'535, 1'000'250}, {0, kLost}, {1, kLost}, {2, 1'100'000}}));
    EXPECT_FALSE(collector.has_news());
    EXPECT_TRUE(collect(collector).empty());
    collector.on_packet(3, 1'200'000);
    EXPECT_EQ(collect(collector), (Arrivals{{3, 1'200'000}}));
}

TEST(TwccCollector, TheBytesOfARunAreFew) {
    TwccCollector collector;
    for (uint16_t i = 0; i < 100; ++i) collector.on_packet(i, 64'000 + i * 250);
    Bytes memory(1200);
    Writer writer(memory);
    EXPECT_TRUE(collector.write(1, 2, writer));
    EXPECT_EQ(writer.size(), 20u + 2 + 100 + 2) << "one chunk, one byte per packet, padding";
}

TEST(TwccCollector, FeedbacksAreCounted) {
    TwccCollector collector;
    for (uint16_t i = 0; i < 3; ++i) {
        collector.on_packet(i, 0);
        Bytes memory(100);
        Writer writer(memory);
        EXPECT_TRUE(collector.write(1, 2, writer));
        EXPECT_EQ(read(writer.written()), fmt::format("twcc 1 2 from {} count 1 reference 0 feedback {}", i, i));
    }
}

TEST(TwccCollector, LateOnesAreReportedAfterAll) {
    TwccCollector collector;
    collector.on_packet(1, 0);
    collector.on_packet(4, 1000);
    EXPECT_EQ(collect(collector), (Arrivals{{1, 0}, {2, kLost}, {3, kLost}, {4, 1000}}));
    collector.on_packet(3, 2000);
    EXPECT_EQ(collect(collector), (Arrivals{{3, 2000}, {4, 1000}}));
    collector.on_packet(3, 5000);
    EXPECT_FALSE(collector.has_news()) << "a duplicate is not reported";
}

// The reference time of 24 bits in units of 64 ms wraps after 12.4 days; sequence numbers wrap much more often.
TEST(TwccCollector, TheReferenceTimeWraps) {
    TwccCollector collector;
    constexpr int64_t kWrapUs = (int64_t{1} << 24) * 64'000;
    for (int64_t wrap : {kWrapUs / 2, kWrapUs}) {
        for (int i = -2; i < 2; ++i) {
            collector.on_packet(static_cast<uint16_t>(i), wrap + i * 64'000);
            Bytes memory(100);
            Writer writer(memory);
            EXPECT_TRUE(collector.write(1, 2, writer));
            // A signed number (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1).
            const int64_t reference = (wrap / 64'000 + i + 0x800000) % 0x1000000 - 0x800000;
            EXPECT_EQ(read(writer.written()), fmt::format("twcc 1 2 from {} count 1 reference {} feedback {}",
                                                          static_cast<uint16_t>(i), reference, i + 2));
        }
        collector = TwccCollector();
    }
}

TEST(TwccCollector, TimesFarApartMakeAnotherFeedback) {
    TwccCollector collector;
    collector.on_packet(1, 0);
    collector.on_packet(2, 20'000'000);
    Bytes memory(1200);
    Writer writer(memory);
    EXPECT_TRUE(collector.write(1, 2, writer));
    EXPECT_TRUE(collector.write(1, 2, writer));
    EXPECT_FALSE(collector.write(1, 2, writer));
    EXPECT_EQ(read(writer.written()),
              "twcc 1 2 from 1 count 1 reference 0 feedback 0\ntwcc 1 2 from 2 count 1 reference 312 feedback 1");
}

TEST(TwccCollector, AnyPatternInPacketsOfAnySize) {
    uint32_t random = 12345;
    auto next = [&random] { return random = random * 1664525 + 1013904223, random >> 16; };
    for (size_t size : {60u, 100u, 333u, 1200u}) {
        for (int round = 0; round < 40; ++round) {
            TwccCollector collector;
            std::map<int, int64_t> sent;
            int64_t now = next() * 1000;
            auto loss = next() % 4 * 30, jump = next() % 3 * 40;
            int first = static_cast<int>(next() % 65'536);
            for (int i = 0; i < 500; ++i) {
                now += 250 * (next() % 100 < jump ? next() % 2000 : next() % 8);
                if (i > 0 && i < 499 && next() % 100 < loss) continue;
                int64_t arrival = next() % 10 == 0 ? now - 250 * (next() % 60) : now;
                sent[i] = arrival;
                collector.on_packet(static_cast<uint16_t>(first + i), arrival);
            }
            Arrivals got = collect(collector, size);
            ASSERT_EQ(got.size(), 500u);
            for (int i = 0; i < 500; ++i) {
                auto& [sequence, at] = got[static_cast<size_t>(i)];
                ASSERT_EQ(sequence, static_cast<uint16_t>(first + i));
                ASSERT_EQ(at.has_value(), sent.contains(i));
                if (at) {
                    ASSERT_EQ(*at / 250, sent[i] / 250);
                }
            }
        }
    }
}

TEST(TwccCollector, MoreThanTheWindowIsForgottenAndCounted) {
    TwccCollector collector;
    for (uint16_t i = 0; i < 3000; ++i) collector.on_packet(i, 0);
    EXPECT_EQ(collector.forgotten(), 3000u - TwccCollector::kWindow);
    Arrivals got = collect(collector);
    EXPECT_EQ(got.size(), static_cast<size_t>(TwccCollector::kWindow));
    EXPECT_EQ(got.back().first, 2999);
    collector.on_packet(20'000, 0);
    EXPECT_EQ(collect(collector), (Arrivals{{20'000, 0}})) << "a jump starts a new sequence";
    collector.on_packet(18'000, 0);
    EXPECT_FALSE(collector.has_news());
}

}  // namespace
}  // namespace rtcp
