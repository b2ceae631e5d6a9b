#include "protocol/srt/receiver.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"

namespace srt {
namespace {

// A receiver whose packets have their sequence number as the payload. Output as in "3 4 !2 7": 5 and 6 were skipped.
struct Input : DataSink {
    explicit Input(Receiver::Options options = {}) : receiver(with_defaults(options)) {}
    static Receiver::Options with_defaults(Receiver::Options options) {
        if (options.initial_sequence == 0) options.initial_sequence = 1;
        return options;
    }
    void on_message(const Message& message) override {
        if (message.skipped > 0) out += "!" + std::to_string(message.skipped) + " ";
        out += std::to_string(base::get_u32(message.bytes.data())) + " ";
    }
    std::string take() {
        if (!out.empty()) out.pop_back();
        return std::exchange(out, {});
    }
    // Sent 1 ms apart, received at now_us.
    std::string data(uint32_t sequence, bool readable = true) {
        uint8_t bytes[4];
        base::put_u32(bytes, sequence);
        receiver.on_data(
            now_us, {.sequence = sequence, .timestamp_us = sequence * 1000, .readable = readable, .payload = bytes},
            *this);
        return take();
    }
    std::string at(int64_t us) {
        now_us = us;
        receiver.on_time(us, *this);
        return take();
    }
    std::string drop(uint32_t first, uint32_t last) {
        receiver.on_drop_request(now_us, {first, last}, *this);
        return take();
    }
    // The ranges as in "5 7-9".
    std::string nak(size_t room = kMaxDatagram) {
        uint8_t bytes[kMaxDatagram];
        NakWriter writer(std::span(bytes, room), {});
        receiver.write_nak(now_us, writer);
        std::string text;
        if (writer.size() == 0) return text;
        LossList list(std::span(bytes, writer.size()).subspan(kHeaderSize));
        while (auto range = list.next()) {
            text += (text.empty() ? "" : " ") + std::to_string(range->first);
            if (range->last != range->first) text += "-" + std::to_string(range->last);
        }
        return text;
    }
    // The position and, of a full one, the number: "5 #1".
    std::string ack() {
        const auto ack = receiver.next_ack(now_us);
        if (!ack) return "";
        return std::to_string(ack->last) + (ack->kind == Ack::Kind::kLight ? "" : " #" + std::to_string(ack->number));
    }

    Receiver receiver;
    std::string out;
    int64_t now_us = 0;
};

TEST(SrtReceiver, DeliversInOrderAtOnce) {
    Input in;
    EXPECT_EQ(in.data(1), "1");
    EXPECT_EQ(in.data(2), "2");
    EXPECT_EQ(in.receiver.buffered(), 0u);
    EXPECT_EQ(in.data(2), "");
    EXPECT_EQ(in.receiver.counters().duplicates, 1u);
}

TEST(SrtReceiver, OnlyWhatIsBehindAHoleWaits) {
    Input in;
    in.data(1);
    EXPECT_EQ(in.data(4), "");
    EXPECT_EQ(in.data(3), "");
    EXPECT_EQ(in.data(4), "");
    EXPECT_EQ(in.data(2), "2 3 4");
    EXPECT_EQ(in.receiver.buffered_bytes(), 0u);
    EXPECT_EQ(in.receiver.counters().lost, 2u);
    EXPECT_EQ(in.receiver.counters().recovered, 2u);
    EXPECT_EQ(in.receiver.deadline(), in.now_us + 10'000) << "an ACK";
}

TEST(SrtReceiver, AHoleIsSkippedWhenThePacketAfterItIsDue) {
    Input in({.latency_us = 100'000});
    in.now_us = 1'000;
    in.data(1);
    in.now_us = 4'000;
    in.data(4);
    in.now_us = 6'000;
    in.data(6);
    EXPECT_EQ(in.at(103'999), "");
    EXPECT_EQ(in.at(104'000), "!2 4") << "4 is due at its time and the latency";
    EXPECT_EQ(in.data(3), "");
    EXPECT_EQ(in.receiver.counters().belated, 1u);
    EXPECT_EQ(in.at(106'000), "!1 6");
}

TEST(SrtReceiver, ATimestampOfTheFutureDoesNotExtendTheWait) {
    Input in({.latency_us = 100'000});
    in.now_us = 0;
    in.data(1);
    in.data(4'000);
    EXPECT_EQ(in.at(99'999), "");
    EXPECT_EQ(in.at(100'000), "!3998 4000");
}

TEST(SrtReceiver, GapsAreRequestedAtOnceAndThenPeriodically) {
    Input in({.latency_us = 1'000'000});
    in.data(1);
    in.data(3);
    EXPECT_EQ(in.nak(), "2");
    EXPECT_EQ(in.nak(), "");
    in.now_us = 50'000;
    in.data(7);
    EXPECT_EQ(in.nak(), "4-6");
    in.now_us = 149'999;
    EXPECT_EQ(in.receiver.deadline(), 10'000);
    EXPECT_EQ(in.nak(), "");
    in.now_us = 150'000;  // (100 ms + 4 * 50 ms) / 2
    EXPECT_EQ(in.nak(), "2");
    in.now_us = 200'000;
    EXPECT_EQ(in.nak(), "4-6");
    in.data(5);
    in.now_us = 400'000;
    EXPECT_EQ(in.nak(), "2 4 6");
}

TEST(SrtReceiver, WhatHasNoRoomInANakFollows) {
    Input in({.latency_us = 10'000'000});
    for (uint32_t i = 1; i < 12; i += 2) in.data(i);
    EXPECT_EQ(in.nak(kHeaderSize + 12), "2 4 6");
    EXPECT_EQ(in.nak(kHeaderSize + 12), "");
    in.now_us = 10'000;
    EXPECT_EQ(in.nak(kHeaderSize + 12), "8 10");
}

TEST(SrtReceiver, OvertakenPacketsAreRequestedLater) {
    Input in({.latency_us = 1'000'000, .reorder = 3});
    in.data(1);
    in.data(3);
    in.data(4);
    EXPECT_EQ(in.nak(), "");
    in.data(5);
    EXPECT_EQ(in.nak(), "2");
    in.data(7);
    in.now_us = 150'000;
    EXPECT_EQ(in.nak(), "2 6") << "nothing follows";
}

TEST(SrtReceiver, FullAcksAreSentForNewDataAndRepeatedUntilAnswered) {
    Input in;
    in.data(1);
    EXPECT_EQ(in.ack(), "");
    in.data(2);
    in.now_us = 10'000;
    EXPECT_EQ(in.ack(), "3 #1");
    in.now_us = 309'999;
    EXPECT_EQ(in.ack(), "");
    in.now_us = 310'000;
    EXPECT_EQ(in.ack(), "3 #2");
    in.now_us = 330'000;
    in.receiver.on_ack_ack(in.now_us, 2, 0);
    EXPECT_EQ(in.receiver.round_trip().us(), 20'000);
    EXPECT_EQ(in.receiver.round_trip().variation_us(), 10'000);
    in.receiver.on_ack_ack(in.now_us, 2, 0);
    in.receiver.on_ack_ack(in.now_us, 3, 0);
    in.receiver.on_ack_ack(in.now_us, 0xffffffff, 0);
    EXPECT_EQ(in.receiver.round_trip().us(), 20'000) << "numbers that were not sent";
    EXPECT_EQ(in.receiver.deadline(), kNever) << "silence";
    in.data(3);
    EXPECT_EQ(in.receiver.deadline(), 340'000);
}

TEST(SrtReceiver, TheAckStopsBeforeAHole) {
    Input in;
    in.data(1);
    in.data(3);
    in.now_us = 10'000;
    EXPECT_EQ(in.ack(), "2 #1");
    in.receiver.on_ack_ack(in.now_us, 1, 0);
    in.data(4);
    in.now_us = 100'000;
    EXPECT_EQ(in.ack(), "");
}

TEST(SrtReceiver, ALightAckComesAfter64Packets) {
    Input in;
    for (uint32_t i = 1; i <= 63; ++i) in.data(i);
    EXPECT_EQ(in.ack(), "");
    in.data(64);
    EXPECT_EQ(in.ack(), "65");
    EXPECT_EQ(in.ack(), "");
}

TEST(SrtReceiver, DropRequests) {
    Input in({.latency_us = 1'000'000});
    in.data(1);
    in.data(5);
    EXPECT_EQ(in.drop(3, 4), "");
    EXPECT_EQ(in.receiver.missing(), 1u);
    EXPECT_EQ(in.data(2), "2 !2 5");
    EXPECT_EQ(in.drop(6, 9), "") << "what never came";
    EXPECT_EQ(in.data(10), "!4 10");
    EXPECT_EQ(in.drop(15, 16), "") << "after a gap that was not noticed";
    EXPECT_EQ(in.nak(), "11-14");
    in.drop(2, 9);
    in.drop(20, 12);
    in.drop(12, 20'000);
    EXPECT_EQ(in.receiver.next_sequence(), 11);
    EXPECT_EQ(in.drop(1, 20'000), "");
    EXPECT_EQ(in.data(20'001), "!19990 20001");
    EXPECT_EQ(in.receiver.missing(), 0u);
    EXPECT_EQ(in.receiver.counters().skipped, 19996u);
}

TEST(SrtReceiver, UnreadablePacketsAreAcknowledgedAndSkipped) {
    Input in;
    EXPECT_EQ(in.data(1, false), "");
    EXPECT_EQ(in.data(3, false), "");
    EXPECT_EQ(in.data(2), "!1 2");
    EXPECT_EQ(in.data(4), "!1 4");
    EXPECT_EQ(in.receiver.next_sequence(), 5);
    EXPECT_EQ(in.receiver.counters().unreadable, 2u);
}

TEST(SrtReceiver, APacketFarAwayNeedsAnotherOne) {
    Input in({.window = 100});
    in.data(1);
    in.data(3);
    EXPECT_EQ(in.data(100'000), "");
    EXPECT_EQ(in.data(4), "");
    EXPECT_EQ(in.data(50'000), "");
    EXPECT_EQ(in.data(2), "2 3 4");
    EXPECT_EQ(in.receiver.counters().out_of_window, 2u);
    EXPECT_EQ(in.data(70'000), "");
    EXPECT_EQ(in.data(70'001), "");
    EXPECT_EQ(in.receiver.next_sequence(), 70'000);
    EXPECT_EQ(in.nak(), "70000");
    EXPECT_LE(in.receiver.buffered(), 100u);
}

TEST(SrtReceiver, WithoutTooLateDropAHoleEndsTheSessionWhenTheBufferIsFull) {
    Input in({.latency_us = 100'000, .window = 50, .drop_too_late = false});
    in.data(1);
    for (uint32_t i = 3; i <= 50; ++i) in.data(i);
    in.at(1'000'000);
    EXPECT_EQ(in.receiver.failure(), Receiver::Failure::kNone);
    EXPECT_EQ(in.receiver.buffered(), 49u);
    in.data(51);
    in.at(1'000'001);
    EXPECT_EQ(in.receiver.failure(), Receiver::Failure::kBufferFull);
    EXPECT_EQ(in.take(), "");
    in.receiver.flush(in.now_us, in);
    EXPECT_EQ(in.take().substr(0, 8), "!1 3 4 5");
}

TEST(SrtReceiver, WithoutTooLateDropAHoleEndsTheSessionInTheEnd) {
    Input in({.drop_too_late = false});
    in.data(1);
    in.data(3);
    in.at(29'999'999);
    EXPECT_EQ(in.receiver.failure(), Receiver::Failure::kNone);
    in.at(30'000'000);
    EXPECT_EQ(in.receiver.failure(), Receiver::Failure::kBufferFull);
}

TEST(SrtReceiver, FlushDeliversAll) {
    Input in;
    for (uint32_t i : {1, 3, 4, 7}) in.data(i);
    in.receiver.flush(in.now_us, in);
    EXPECT_EQ(in.take(), "!1 3 4 !2 7");
    EXPECT_EQ(in.receiver.next_sequence(), 8);
}

TEST(SrtReceiver, GapsWithoutEndAreNotFollowed) {
    Input in({.window = 8192});
    for (uint32_t i = 8000; i < 800'000; i += 8000) {
        in.data(i);
        in.drop(1, i - 1);
    }
    EXPECT_GE(in.receiver.counters().out_of_window, 94u) << "of 99";
    EXPECT_EQ(in.receiver.buffered(), 0u);
    in.now_us = 1'000'000;
    in.data(wire_sequence(in.receiver.next_sequence() + 5));
    EXPECT_EQ(in.receiver.missing(), 5u) << "later gaps are";
}

TEST(SrtReceiver, OfAFullWindowNoMoreIsKept) {
    Input in({.latency_us = 1'000'000, .window = 64});
    for (uint32_t i = 2; i < 100'000; i += 2) {
        in.data(i);
        ASSERT_LE(in.receiver.buffered(), 64u);
    }
    EXPECT_LE(in.receiver.buffered_bytes(), 64u * 4);
}

}  // namespace
}  // namespace srt
