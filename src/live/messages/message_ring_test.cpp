#include "live/messages/message_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace live {
namespace {

constexpr int64_t kMs = 1'000;
constexpr size_t kMax = MessageRing::kMaxBytes;

void put(MessageRing& ring, size_t bytes, char fill, int64_t now_us, bool start = false) {
    std::fill_n(ring.append(bytes, now_us, start), bytes, static_cast<uint8_t>(fill));
}

std::string sizes(const MessageRing& ring) {
    std::string text;
    for (uint64_t i = ring.begin(); i < ring.end(); ++i) text += std::to_string(ring.at(i).bytes.size()) + " ";
    return text;
}

TEST(MessageRingTest, APacketIsCutIntoMessages) {
    MessageRing ring;
    put(ring, 2 * kMax + 188, 'a', 5 * kMs);
    EXPECT_EQ(sizes(ring), "1316 1316 ") << "the last one is open until close()";
    ring.close();
    EXPECT_EQ(sizes(ring), "1316 1316 188 ");
    ring.close();
    EXPECT_EQ(ring.end(), 3u) << "nothing was open";
    EXPECT_EQ(ring.at(2).bytes.text(), std::string(188, 'a'));
}

TEST(MessageRingTest, PacketsShareAMessageUntilItIsClosed) {
    MessageRing ring;
    put(ring, 188, 'a', 1 * kMs);
    put(ring, 188, 'b', 2 * kMs);
    ring.close();
    put(ring, 188, 'c', 3 * kMs);
    ring.close();
    ASSERT_EQ(sizes(ring), "376 188 ");
    EXPECT_EQ(ring.at(0).bytes.text(), std::string(188, 'a') + std::string(188, 'b'));
    EXPECT_EQ(ring.at(0).time_us, 1 * kMs) << "the time of the first byte";
    EXPECT_EQ(ring.at(1).time_us, 3 * kMs);
}

TEST(MessageRingTest, TheRestOfAPacketHasItsTime) {
    MessageRing ring;
    put(ring, 188, 'a', 1 * kMs);
    put(ring, kMax, 'b', 2 * kMs);
    ring.close();
    ASSERT_EQ(sizes(ring), "1316 188 ");
    EXPECT_EQ(ring.at(0).time_us, 1 * kMs);
    EXPECT_EQ(ring.at(1).time_us, 2 * kMs);
}

TEST(MessageRingTest, AStartBeginsAMessage) {
    MessageRing ring;
    EXPECT_FALSE(ring.newest_start());
    put(ring, 188, 'a', 1 * kMs);
    put(ring, 376, 'K', 2 * kMs, true);
    put(ring, 188, 'b', 3 * kMs);
    EXPECT_FALSE(ring.newest_start()) << "it is not complete";
    ring.close();
    ASSERT_EQ(sizes(ring), "188 564 ");
    EXPECT_EQ(ring.newest_start(), 1u);
    EXPECT_TRUE(ring.at(1).start);
    EXPECT_FALSE(ring.at(0).start);
    ring.forget_start();
    EXPECT_FALSE(ring.newest_start());
}

TEST(MessageRingTest, ALargePacketLiesInOnePiece) {
    MessageRing ring;
    put(ring, 1000, 'a', 1 * kMs);
    const size_t large = 300'000;
    uint8_t* out = ring.append(large, 2 * kMs, true);
    for (size_t i = 0; i < large; ++i) out[i] = static_cast<uint8_t>(i);
    ring.close();
    EXPECT_EQ(ring.at(0).bytes.size(), 1000u);
    size_t at = 0;
    for (uint64_t i = 1; i < ring.end(); ++i)
        for (uint8_t byte : ring.at(i).bytes.bytes()) ASSERT_EQ(byte, static_cast<uint8_t>(at++));
    EXPECT_EQ(at, large);
}

TEST(MessageRingTest, OldMessagesAreDroppedButForTheNewestStart) {
    MessageRing ring({.history_us = 1'000 * kMs, .max_us = 4'000 * kMs});
    for (int64_t ms = 0; ms <= 10'000; ms += 100) {
        put(ring, 188, 'x', ms * kMs, ms == 7'000);
        ring.close();
    }
    EXPECT_EQ(ring.at(ring.begin()).time_us, 7'000 * kMs);
    EXPECT_EQ(ring.begin(), ring.newest_start());
    for (int64_t ms = 10'100; ms <= 12'000; ms += 100) {
        put(ring, 188, 'x', ms * kMs);
        ring.close();
    }
    EXPECT_FALSE(ring.newest_start()) << "it is too old";
    EXPECT_NEAR(static_cast<double>(ring.at(ring.begin()).time_us / kMs), 11'000, 200);
}

TEST(MessageRingTest, HistoryGrowsWithWhatPlayersMayRequest) {
    MessageRing ring({.history_us = 1'000 * kMs, .max_us = 1'000 * kMs});
    ring.keep_at_least(3'000 * kMs);
    for (int64_t ms = 0; ms <= 10'000; ms += 100) {
        put(ring, 188, 'x', ms * kMs);
        ring.close();
    }
    EXPECT_NEAR(static_cast<double>(ring.at(ring.begin()).time_us / kMs), 7'000, 200);
}

TEST(MessageRingTest, BytesAndMessagesAreBounded) {
    MessageRing ring({.messages = 256, .bytes = 100'000});
    for (int i = 0; i < 1000; ++i) {
        put(ring, kMax, 'x', i);
        ASSERT_LE(ring.bytes(), 100'000u);
    }
    for (int i = 0; i < 1000; ++i) {
        put(ring, 10, 'x', i);
        ring.close();
        ASSERT_LE(ring.messages(), 256u);
    }
    EXPECT_LT(ring.memory(), 400'000u);
    ring.clear();
    EXPECT_EQ(ring.memory(), 0u);
    EXPECT_EQ(ring.messages(), 0u);
    put(ring, 188, 'y', 2'000);
    ring.close();
    EXPECT_EQ(ring.at(ring.begin()).bytes.text(), std::string(188, 'y')) << "indices continue";
}

}  // namespace
}  // namespace live
