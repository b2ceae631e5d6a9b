#include "load/rtp_script.h"

#include <gtest/gtest.h>

#include "load/interleaved_skimmer.h"
#include "protocol/rtp/packet.h"
#include "protocol/sdp/session/read.h"

namespace load {
namespace {

// Follows the frames as a server does, and notes the marks.
class MarkSink final : public MediaSink {
  public:
    void on_media(const MediaMessage& m) override {
        marks.push_back(mark_of(m.type, m.head));
        timestamps.push_back(m.timestamp);
    }
    void on_packet(int missing) override { lost += missing; }
    std::vector<int64_t> marks;
    std::vector<uint32_t> timestamps;
    int lost = 0;
};

class RtpScriptTest : public testing::Test {
  protected:
    static RtpScript made(const Script& script) {
        auto rtp = RtpScript::make(script);
        EXPECT_TRUE(rtp) << (rtp ? "" : rtp.error().text());
        return *std::move(rtp);
    }
    void take(std::span<const uint8_t> bytes) {
        auto fed = skimmer_.feed(bytes, sink_);
        ASSERT_TRUE(fed) << fed.error().text();
    }
    RtpScriptTest() {
        skimmer_.rtp().add_track(true, 90'000, true);
        skimmer_.rtp().add_track(false, 44'100);
    }
    Script script_ = Script::marked(3000, 2);  // several packets a frame
    InterleavedSkimmer skimmer_;
    MarkSink sink_;
};

TEST_F(RtpScriptTest, DescribesItsTracks) {
    auto read = sdp::read_session_text(made(script_).description(), "rtsp://h/a/s");
    ASSERT_TRUE(read);
    ASSERT_EQ(read->tracks.size(), 2u);
    EXPECT_EQ(read->tracks[0].format.codec, media::Codec::kH264);
    EXPECT_EQ(read->tracks[0].parameter_sets.size(), 2u);
    EXPECT_EQ(read->tracks[1].format.codec, media::Codec::kAac);
    EXPECT_EQ(read->tracks[1].format.clock_rate, 44'100u);
}

TEST_F(RtpScriptTest, EveryFrameOfTwoRoundsOnceAndInOrder) {
    RtpScript rtp = made(script_);
    const auto end = static_cast<uint32_t>(script_.messages().size());
    for (uint32_t i = 0; i < script_.repeat_from(); ++i) EXPECT_TRUE(rtp.encode(i, 0, 0).empty()) << "message " << i;
    for (uint32_t round = 0; round < 2; ++round) {
        for (uint32_t i = script_.repeat_from(); i < end; ++i) {
            take(rtp.encode(i, round, 0));
            ASSERT_EQ(sink_.marks.back(), i) << "round " << round;
            const uint32_t expected = script_.messages()[i].timestamp_ms + round * script_.round_ms();
            EXPECT_NEAR(sink_.timestamps.back(), expected, 1) << "message " << i << ", round " << round;
        }
    }
    EXPECT_EQ(sink_.marks.size(), 2 * (end - script_.repeat_from()));
    EXPECT_EQ(sink_.lost, 0);
}

TEST_F(RtpScriptTest, ASenderReportBeforeATracksFirstPacketOfARound) {
    RtpScript rtp = made(script_);
    for (uint32_t round = 0; round < 2; ++round) {
        int reports[2] = {0, 0};
        for (uint32_t i = script_.repeat_from(); i < script_.messages().size(); ++i) {
            auto bytes = rtp.encode(i, round, 1'000'000);
            if (bytes[1] % 2 == 0) continue;
            const uint8_t* report = bytes.data() + 4;
            const size_t behind = 4u + rtp::get_u16(bytes.data() + 2);
            EXPECT_EQ(report[1], 200);
            EXPECT_EQ(rtp::get_u32(report + 16), rtp::get_u32(&bytes[behind + 4 + 4])) << "the packet's timestamp";
            EXPECT_EQ(rtp::get_u32(report + 20) > 0, round > 0) << "packets so far";
            ++reports[bytes[1] / 2];
        }
        EXPECT_EQ(reports[0], 1) << "round " << round;
        EXPECT_EQ(reports[1], 1) << "round " << round;
    }
}

// A message of several RTMP chunks.
TEST(ScriptBody, WithoutChunkHeaders) {
    Script script = Script::marked(40'000, 2);
    const auto& message = script.messages()[script.repeat_from()];
    ASSERT_GT(message.size, 120'000u) << "the first frame is to have three chunks";
    const auto body = script.body(script.repeat_from());
    EXPECT_EQ(body.size(), message.size - 12 - (message.size - 12 - 1) / 60'001);
    EXPECT_TRUE(std::all_of(body.begin() + 40, body.end(), [](uint8_t byte) { return byte == 0x55; }));
}

}  // namespace
}  // namespace load
