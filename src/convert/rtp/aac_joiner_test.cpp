#include "convert/rtp/aac_joiner.h"

#include <gtest/gtest.h>

#include "media/aac.h"
#include "protocol/rtp/payload/depacketizer.h"

namespace convert {
namespace {

using media::Frame;
using media::Time;
using std::chrono::milliseconds;

constexpr int kAacRate = 48'000;
constexpr Time kAacWait = milliseconds(100);  // five frames of 21.3 ms

base::Slice aac_config() { return media::make_aac_config(2, kAacRate, 2); }

Frame aac_unit(int64_t index, size_t bytes = 200) {
    Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kAac;
    frame.dts = media::from_ms(media::to_ms(media::from_ticks(1024 * index, kAacRate)));  // rounded, as by RTMP
    frame.payload = base::Slice::copy(std::string(bytes, static_cast<char>('a' + index)));
    return frame;
}

struct TestJoiner {
    AacJoiner joiner = *AacJoiner::make(aac_config(), 1388);
    std::vector<JoinedAac> out;
    // What a player reads of the packets: the first letter of each frame, packets separated by spaces.
    std::string text() const {
        rtp::PayloadFormat format;
        format.codec = media::Codec::kAac;
        format.clock_rate = kAacRate;
        format.aac_config = aac_config();
        auto depacketizer = rtp::make_depacketizer(format);
        std::string text;
        for (const JoinedAac& joined : out) {
            std::vector<rtp::Unit> units;
            depacketizer->push({joined.payload, 0, true, false}, units);
            if (!text.empty()) text += ' ';
            for (const rtp::Unit& unit : units)
                if (!unit.frame.sequence_header) text += static_cast<char>(unit.frame.payload[0]);
            EXPECT_EQ(depacketizer->counters().malformed, 0u);
        }
        return text;
    }
};

TEST(AacJoiner, AFrameWaitsForABoundedTime) {
    TestJoiner joiner;
    for (int i = 0; i < 11; ++i) joiner.joiner.push(aac_unit(i), kAacWait, joiner.out);
    EXPECT_EQ(joiner.text(), "abcde fghij");
    ASSERT_EQ(joiner.out.size(), 2u);
    EXPECT_EQ(joiner.out[1].first.dts, aac_unit(5).dts) << "the time of a packet is that of its first frame";
    joiner.joiner.flush(joiner.out);
    joiner.joiner.flush(joiner.out);
    EXPECT_EQ(joiner.text(), "abcde fghij k");
}

TEST(AacJoiner, APacketIsNotLongerThanItMayBe) {
    TestJoiner joiner;
    for (int i = 0; i < 5; ++i) joiner.joiner.push(aac_unit(i, 600), kAacWait, joiner.out);
    joiner.joiner.flush(joiner.out);
    EXPECT_EQ(joiner.text(), "ab cd e");
    EXPECT_TRUE(joiner.joiner.fits(aac_unit(0, 1384)));
    EXPECT_FALSE(joiner.joiner.fits(aac_unit(0, 1385)));
    EXPECT_FALSE(joiner.joiner.fits(aac_unit(0, 0)));
}

TEST(AacJoiner, AGapIsNotJoined) {
    TestJoiner joiner;
    for (int i : {0, 1, 3, 4}) joiner.joiner.push(aac_unit(i), kAacWait, joiner.out);
    Frame jump = aac_unit(5);
    jump.discontinuity = true;
    joiner.joiner.push(jump, kAacWait, joiner.out);
    joiner.joiner.flush(joiner.out);
    EXPECT_EQ(joiner.text(), "ab de f");
}

TEST(AacJoiner, NeedsAConfiguration) {
    EXPECT_FALSE(AacJoiner::make(std::vector<uint8_t>{}, 1000));
    EXPECT_FALSE(AacJoiner::make(std::vector<uint8_t>{0xff}, 1000));
}

}  // namespace
}  // namespace convert
