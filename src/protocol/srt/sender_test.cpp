#include "protocol/srt/sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "protocol/srt/network_testing.h"

namespace srt {
namespace {

using testing::TestHistory;

// A sender of messages 100 and up, with sequence numbers from 1000 on. Output as in "1000 R1000": R is a repair.
struct Output {
    explicit Output(Sender::Options options = {}, int messages = 0) : sender(with_defaults(options), 100) {
        add(messages);
    }
    static Sender::Options with_defaults(Sender::Options options) {
        options.initial_sequence = 1000;
        options.peer_id = 7;
        return options;
    }
    void add(int messages) {
        for (int i = 0; i < messages; ++i) history.add(now_us);
    }
    std::string send() {
        std::string text;
        while (auto packet = sender.next(now_us, history, policy)) {
            text += (text.empty() ? "" : " ") + std::string(packet->header.retransmitted ? "R" : "") +
                    std::to_string(packet->header.sequence);
            last = *packet;
        }
        return text;
    }
    void ack(uint32_t next, uint32_t rtt_us = 20'000, uint32_t free = 8192) {
        sender.on_ack(now_us, {.number = 1, .last = next, .rtt_us = rtt_us, .rtt_var_us = 0, .buffer_packets = free});
    }
    void nak(std::initializer_list<uint32_t> words) {
        std::vector<uint8_t> bytes;
        for (uint32_t word : words) base::ByteWriter(bytes).u32(word);
        sender.on_nak(now_us, LossList(bytes));
    }
    std::string drop() {
        const auto request = sender.next_drop_request();
        return request ? std::to_string(request->range.first) + "-" + std::to_string(request->range.last) : "";
    }

    TestHistory history{100};
    SendPolicy policy{.stream_rate = 1'000'000, .min_burst_bytes = 1'000'000, .max_burst_bytes = 1'000'000};
    int64_t now_us = 1'000'000;
    Sender sender;
    Outgoing last;
};

// The history's times of a sender that has caught up.
Output live(Sender::Options options, int messages) {
    Output out(options);
    for (int i = 0; i < messages; ++i) {
        out.add(1);
        out.send();
        out.now_us += 1'000;
    }
    return out;
}

TEST(SrtSender, HeadersAreMadeFromIndices) {
    Output out({.start_us = 400'000}, 1);
    EXPECT_EQ(out.send(), "1000");
    EXPECT_EQ(out.last.index, 100);
    EXPECT_EQ(
        out.last.header,
        (DataHeader{.sequence = 1000, .in_order = true, .message = 101, .timestamp_us = 600'000, .destination = 7}));
}

TEST(SrtSender, RepairsHaveTheSameNumberAndTime) {
    Output out({}, 2);
    out.send();
    const DataHeader first = out.last.header;
    out.now_us += 600'000;
    out.ack(1000);
    out.nak({first.sequence});
    out.send();
    EXPECT_TRUE(out.last.header.retransmitted);
    EXPECT_EQ(out.last.header.timestamp_us, first.timestamp_us);
    EXPECT_EQ(out.last.header.message, first.message);
}

TEST(SrtSender, RepairsComeFirstAndOnceInARoundTrip) {
    Output out = live({}, 10);
    out.ack(1002);
    out.nak({1003, 1005 | 0x80000000, 1006});
    out.add(1);
    EXPECT_EQ(out.send(), "R1003 R1005 R1006 1010");
    out.nak({1003, 1005 | 0x80000000, 1007});
    EXPECT_EQ(out.send(), "R1007");
    out.now_us += 20'000;
    out.nak({1003});
    EXPECT_EQ(out.send(), "R1003");
}

TEST(SrtSender, ListsOfEverythingAreClamped) {
    Output out = live({}, 10);
    out.ack(1004);
    out.nak({0x80000000 | 500, 0x3fffffff});
    EXPECT_EQ(out.send(), "R1004 R1005 R1006 R1007 R1008 R1009");
    EXPECT_EQ(out.drop(), "500-1003");
    out.nak({5000, 0x80000000, 0x7fffffff, 0x80000000 | 1009, 1004, 0x80000000 | 1005});
    EXPECT_EQ(out.send(), "");
}

// A round of the merge interval: the rate is three times the stream's, and no call to the kernel has a few packets.
TEST(SrtSender, WhatIsSentTogetherGoesOutInBursts) {
    Output out = live({.latency_us = 10'000'000}, 200);
    out.ack(1200);
    out.policy = {.stream_rate = 375'000};
    out.now_us += 1'000'000;
    out.add(100);
    const int64_t begun_us = out.now_us;
    std::vector<size_t> bursts;
    for (size_t sent = 0; sent < 100; ++out.now_us) {
        const std::string text = out.send();
        if (!text.empty()) bursts.push_back(1 + static_cast<size_t>(std::ranges::count(text, ' ')));
        if (!bursts.empty() && !text.empty()) sent += bursts.back();
        out.now_us = std::max(out.now_us, out.sender.deadline(out.history, out.policy));
        ASSERT_LT(out.now_us, begun_us + 1'000'000);
    }
    for (size_t i = 0; i + 1 < bursts.size(); ++i) EXPECT_GE(bursts[i], 16u) << "burst " << i;
    EXPECT_GE(bursts.size(), 2u);
    EXPECT_LE(out.now_us - begun_us, 150'000) << "the rest of the interval is for others";
}

TEST(SrtSender, RepairsHaveARate) {
    Output out = live({.latency_us = 10'000'000}, 2000);
    out.policy = {
        .stream_rate = 100'000, .min_burst_bytes = 10'000, .max_burst_bytes = 10'000, .min_repair_rate = 50'000};
    size_t bytes = 0;
    for (int i = 0; i < 1000; ++i, out.now_us += 1'000) {
        out.nak({0x80000000 | 1000, 3000});
        while (auto packet = out.sender.next(out.now_us, out.history, out.policy)) {
            bytes += out.history.entry(packet->index).bytes.size();
        }
    }
    EXPECT_LE(bytes, 80'000u);
    EXPECT_GE(bytes, 50'000u);
}

TEST(SrtSender, ManyRequestsAreIgnored) {
    Output out = live({.latency_us = 10'000'000}, 2000);
    for (int n = 0; n < 1000; ++n) {
        std::vector<uint8_t> bytes;
        for (uint32_t i = 0; i < 360; ++i) base::ByteWriter(bytes).u32(1000 + i * 2);
        out.sender.on_nak(out.now_us, LossList(bytes));
    }
    EXPECT_GE(out.sender.counters().ignored_naks, 900u);
    EXPECT_LE(out.sender.counters().lost, 4'400u);
}

TEST(SrtSender, MessagesThatWaitForOthersAreNotLate) {
    Output out({.send_delay_us = 350'000}, 0);
    const int64_t time_us = out.now_us;
    for (int i = 0; i < 35; ++i, out.now_us += 10'000) out.add(1);
    out.send();
    EXPECT_EQ(out.last.header.timestamp_us, time_us + 340'000 + 350'000);
    EXPECT_EQ(out.sender.cursor(), out.history.end());
}

TEST(SrtSender, TheWindowOfThePeerBounds) {
    Output out({.window = 5}, 20);
    out.policy.stream_rate = 1'000'000'000;
    out.now_us += 1'000;
    EXPECT_EQ(out.send(), "1000");
    out.now_us += 1'000;
    EXPECT_EQ(out.send(), "1001 1002 1003 1004");
    out.ack(1003, 20'000, 3);
    EXPECT_EQ(out.send(), "1005");
    out.ack(1006, 20'000, 0);
    EXPECT_EQ(out.send(), "1006 1007") << "a peer without room is asked again";
    EXPECT_EQ(out.sender.in_flight(), 2);
}

TEST(SrtSender, ImpossibleAcksAreClampedAndCounted) {
    Output out = live({}, 10);
    out.ack(2000, 0);
    EXPECT_EQ(out.sender.in_flight(), 0);
    EXPECT_EQ(out.sender.counters().invalid_acks, 1u);
    EXPECT_EQ(out.sender.round_trip().us(), 100'000);
    out.ack(900);
    EXPECT_EQ(out.sender.in_flight(), 0);
    out.add(1);
    EXPECT_EQ(out.send(), "1010");
}

TEST(SrtSender, WhatHasLeftTheHistoryIsNotWaitedFor) {
    Output out = live({.latency_us = 10'000'000}, 10);
    for (int i = 0; i < 5000; ++i, out.now_us += 1'000) out.add(1);
    out.policy = {};
    out.sender.next(out.now_us, out.history, out.policy);
    EXPECT_EQ(out.drop(), "1000-" + std::to_string(999 + out.history.first() - 100));
    EXPECT_EQ(out.sender.cursor(), out.history.first() + 1);
}

TEST(SrtSender, WhatIsTooLateIsLeftOut) {
    Output out = live({}, 10);
    out.ack(1010);
    for (int i = 0; i < 100; ++i, out.now_us += 20'000) out.add(1);
    const std::string sent = out.send();
    EXPECT_EQ(sent.substr(0, 4), "1060") << "1.02 s before: " << sent;
    EXPECT_EQ(out.sender.counters().dropped, 50u);
    EXPECT_EQ(out.drop(), "1010-1059");
}

TEST(SrtSender, WhatIsOldHasTheTimeOfSendingUntilThePlayerHasCaughtUp) {
    Output out({.latency_us = 10'000'000}, 500);
    out.now_us += 2'000'000;
    uint32_t last = 0;
    int sent = 0;
    for (; out.sender.cursor() < out.history.end() || sent < 600; out.now_us += 1'000) {
        if (sent >= 500) out.add(1);
        const int64_t before = out.sender.cursor();
        out.send();
        sent += static_cast<int>(out.sender.cursor() - before);
        const uint32_t time = out.last.header.timestamp_us;
        EXPECT_GE(time, last);
        EXPECT_GE(time, 3'000'000u);
        EXPECT_LE(time, out.now_us);
        last = time;
    }
    EXPECT_EQ(last, out.now_us - 1'000) << "the history's";
    EXPECT_LE(out.now_us, 3'500'000) << "500 messages of 752 bytes at 3 MB/s";
}

TEST(SrtSender, TheLastPacketIsSentAgainAfterATimeout) {
    Output out = live({}, 3);
    out.ack(1001);
    out.now_us += 98'000;
    EXPECT_EQ(out.send(), "");
    out.now_us += 3'000;
    EXPECT_EQ(out.send(), "R1002");
    out.now_us += 199'000;
    EXPECT_EQ(out.send(), "") << "twice the time";
    out.now_us += 1'000;
    EXPECT_EQ(out.send(), "R1002");
}

TEST(SrtSender, WithoutPeriodicNaksAllIsSentAgainAfterATimeout) {
    Output out = live({.peer_repeats_naks = false}, 3);
    out.ack(1000);
    out.now_us += 101'000;
    EXPECT_EQ(out.send(), "R1000 R1001 R1002");
}

TEST(SrtSender, IsSmall) { EXPECT_LE(sizeof(Sender), 304u); }

}  // namespace
}  // namespace srt
