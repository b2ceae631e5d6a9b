#include "live/rtp/rtp_ring.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "runtime/loop/testing.h"
#include "runtime/senders/senders.h"

namespace live {
namespace {

std::span<const uint8_t> bytes(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct Writer {
    RtpRing& ring;
    int64_t now_us = 0;
    void put(uint64_t sequence, uint32_t timestamp, const std::string& text, bool keyframe = false, uint8_t track = 0,
             bool late = false) {
        RtpPacket packet;
        packet.sequence = sequence;
        packet.timestamp = timestamp;
        packet.keyframe = keyframe;
        packet.track = track;
        packet.late = late;
        packet.arrival_us = now_us;
        ring.append(std::move(packet), bytes(text));
    }
};

class RtpRingThreadsTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        runtime::install_senders(std::move(*runtime::Senders::start(1, runtime::Senders::Mode::kManual)));
    }
    void TearDown() override { runtime::stop_senders(); }
    runtime::Senders& threads() { return *runtime::senders(); }
    // A record whose writing reads the payload. It is not sent.
    struct Record {
        const uint8_t* bytes;
        size_t size;
        std::string* into;
    };
    class Route final : public runtime::DatagramRoute {
      public:
        Route() : DatagramRoute({}) {}
        size_t write(const void* at, uint8_t*) const override {
            const auto& record = *static_cast<const Record*>(at);
            record.into->append(reinterpret_cast<const char*>(record.bytes), record.size);
            return 0;
        }
    };
    void lend(const base::Slice& payload) {
        void* room = threads().reserve(0, sizeof(Record));
        ASSERT_TRUE(room);
        new (room) Record{payload.data(), payload.size(), &read};
        threads().commit(0, sizeof(Record), route, 2000, 0);
    }
    std::string read;
    Route route;
};

TEST_F(RtpRingThreadsTest, WhatAThreadIsToReadOutlivesTheRingAndOtherHolders) {
    base::Slice other;
    {
        RtpRing ring;
        Writer writer{ring};
        writer.put(1, 100, "a");
        writer.put(2, 100, "b");
        lend(ring.at(0).payload);
        lend(ring.at(1).payload);
        other = ring.at(0).payload;
        ring.clear();
        writer.put(3, 200, "c");
        lend(ring.at(2).payload);
    }
    EXPECT_GT(threads().stats().retired, 0u);
    other = {};
    EXPECT_EQ(threads().run(0), 3u);
    EXPECT_EQ(read, "abc");
    EXPECT_EQ(threads().stats().retired, 0u);
}

TEST_F(RtpRingThreadsTest, EachBlockThatIsDroppedIsKept) {
    RtpRing ring({.bytes = 100'000});
    Writer writer{ring};
    const std::string text(1000, 'x');
    for (uint64_t sequence = 1; sequence <= 500; ++sequence) {
        writer.put(sequence, static_cast<uint32_t>(sequence), text);
        lend(ring.at(ring.end() - 1).payload);
    }
    // Of some 12 blocks of 32 packets, one packet each.
    EXPECT_GT(threads().stats().retired, 10 * text.size());
    EXPECT_LT(threads().stats().retired, 20 * text.size());
    EXPECT_EQ(threads().run(0), 500u);
    EXPECT_EQ(read.size(), 500 * text.size());
}

// A stream that had players once may go on without them for days.
TEST(RtpRing, WhatIsClearedKeepsNoMemory) {
    constexpr uint64_t kPackets = 1000;
    RtpRing ring;
    const size_t before = mallinfo2().uordblks;
    Writer writer{ring};
    for (uint64_t i = 0; i < kPackets; ++i) writer.put(i, static_cast<uint32_t>(i), "packet");
    ring.clear();
    EXPECT_LT(mallinfo2().uordblks, before + 4096);
}

TEST(RtpRing, KeepsTheOrderOfArrivalAndFindsBySequence) {
    RtpRing ring;
    Writer writer{ring};
    writer.put(10, 100, "a");
    writer.put(500, 1, "sound", false, 1);
    writer.put(12, 100, "c");
    writer.put(11, 100, "b", false, 0, true);
    std::string all;
    for (uint64_t i = ring.begin(); i < ring.end(); ++i) all += ring.at(i).payload.text();
    EXPECT_EQ(all, "asoundcb");
    ASSERT_TRUE(ring.find(0, 11));
    EXPECT_EQ(ring.find(0, 11)->payload.text(), "b");
    EXPECT_EQ(ring.find(1, 500)->payload.text(), "sound");
    EXPECT_FALSE(ring.find(0, 13));
    EXPECT_FALSE(ring.find(0, 500));
    EXPECT_FALSE(ring.find(1, 10));
    EXPECT_FALSE(ring.find(3, 10));
    EXPECT_FALSE(ring.find(200, 10));
}

TEST(RtpRing, AnEmptyRingHasNothing) {
    RtpRing ring;
    EXPECT_FALSE(ring.find(0, 0));
    EXPECT_FALSE(ring.newest_keyframe());
    EXPECT_EQ(ring.packets(), 0u);
}

TEST(RtpRing, AKeyframeBeginsAtTheFirstPacketOfItsUnit) {
    RtpRing ring;
    Writer writer{ring};
    writer.put(1, 100, "delta");
    writer.put(2, 200, "sps");
    writer.put(90, 7, "sound", false, 1);
    writer.put(3, 200, "idr", true);
    writer.put(4, 200, "idr", true);
    EXPECT_EQ(ring.newest_keyframe(), 1u);
    writer.put(5, 300, "delta");
    EXPECT_EQ(ring.newest_keyframe(), 1u);
    writer.put(6, 400, "idr", true);
    EXPECT_EQ(ring.newest_keyframe(), 6u);
    // A late packet of an older unit is no start point.
    writer.put(0, 50, "idr", true, 0, true);
    EXPECT_EQ(ring.newest_keyframe(), 6u);
}

TEST(RtpRing, IsBoundedInPackets) {
    RtpRing ring({.packets = 256});
    Writer writer{ring};
    for (uint64_t i = 1; i <= 1000; ++i) writer.put(i, static_cast<uint32_t>(i), "x", i == 1);
    EXPECT_EQ(ring.packets(), 256u);
    EXPECT_EQ(ring.begin(), 1000u - 256);
    EXPECT_FALSE(ring.find(0, 1000 - 256));
    EXPECT_TRUE(ring.find(0, 1000 - 255));
    EXPECT_TRUE(ring.find(0, 1000));
    EXPECT_FALSE(ring.newest_keyframe());
}

TEST(RtpRing, IsBoundedInBytes) {
    RtpRing ring({.bytes = 10'000});
    Writer writer{ring};
    for (uint64_t i = 1; i <= 100; ++i) writer.put(i, 0, std::string(1000, 'x'));
    EXPECT_EQ(ring.packets(), 10u);
    EXPECT_EQ(ring.bytes(), 10'000u);
}

TEST(RtpRing, KeepsHistoryAndTheNewestGop) {
    RtpRing ring;
    Writer writer{ring};
    for (uint64_t second = 0; second < 20; ++second) {
        writer.now_us = static_cast<int64_t>(second) * 1'000'000;
        writer.put(second + 1, static_cast<uint32_t>(second), "x", second == 5);
        if (second == 14) {
            EXPECT_EQ(ring.newest_keyframe(), 5u);
            EXPECT_EQ(ring.begin(), 5u);
        }
    }
    // Ten seconds after the keyframe it is no start point any more; two seconds stay.
    EXPECT_FALSE(ring.newest_keyframe());
    EXPECT_EQ(ring.begin(), 17u);
}

TEST(RtpRing, DropsOldPacketsFiveTimesASecond) {
    RtpRing ring;
    Writer writer{ring};
    size_t drops = 0;
    for (uint64_t i = 1; i <= 500; ++i) {
        writer.now_us = static_cast<int64_t>(i) * 10'000;
        const uint64_t before = ring.begin();
        writer.put(i, static_cast<uint32_t>(i), "x");
        drops += ring.begin() != before;
        const int64_t age = writer.now_us - ring.at(ring.begin()).arrival_us;
        ASSERT_LT(age, 2'210'000) << "of the oldest packet";
        ASSERT_GE(age, std::min<int64_t>(writer.now_us - 10'000, 2'000'000));
    }
    EXPECT_EQ(drops, 14u) << "in the three seconds after the first two";
}

TEST(RtpRing, FindsAfterItsPositionsPassed32Bits) {
    RtpRing ring({.packets = 128});
    Writer writer{ring};
    for (uint64_t i = 1; i <= 300; ++i) {
        writer.put(i + (1ULL << 40), 0, std::to_string(i));
        ASSERT_TRUE(ring.find(0, i + (1ULL << 40)));
        ASSERT_FALSE(ring.find(0, i));
    }
}

TEST(RtpRing, PayloadsOutliveTheirPosition) {
    RtpRing ring({.packets = 128});
    Writer writer{ring};
    writer.put(1, 0, "kept");
    base::Slice kept = ring.at(0).payload;
    for (uint64_t i = 2; i < 1000; ++i) writer.put(i, 0, std::string(1200, 'z'));
    EXPECT_EQ(kept.text(), "kept");
    ring.clear();
    EXPECT_EQ(kept.text(), "kept");
    EXPECT_EQ(ring.packets(), 0u);
    EXPECT_FALSE(ring.find(0, 999));
    writer.put(1000, 0, "again");
    EXPECT_EQ(ring.at(ring.begin()).payload.text(), "again");
}

TEST(RtpRing, TakesEmptyAndLargePayloads) {
    RtpRing ring;
    Writer writer{ring};
    writer.put(1, 0, "");
    writer.put(2, 0, std::string(65'000, 'l'));
    writer.put(3, 0, "s");
    EXPECT_EQ(ring.at(0).payload.size(), 0u);
    EXPECT_EQ(ring.at(1).payload.size(), 65'000u);
    EXPECT_EQ(ring.at(2).payload.text(), "s");
}

}  // namespace
}  // namespace live
