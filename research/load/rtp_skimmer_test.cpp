#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "load/interleaved_skimmer.h"
#include "protocol/rtp/packet.h"

namespace load {
namespace {

using Packet = std::vector<uint8_t>;

class PacketRecorder final : public MediaSink {
  public:
    void on_media(const MediaMessage& m) override {
        log += fmt::format("{}@{}+{} ", m.type, m.timestamp, m.size);
        head.assign(m.head.begin(), m.head.end());
    }
    void on_packet(int missing) override {
        if (missing) log += fmt::format("missing:{} ", missing);
    }
    std::string log;
    Packet head;  // of the last unit
};

Packet rtp_packet(uint16_t sequence, uint32_t timestamp, bool marker, const Packet& payload) {
    Packet out(rtp::kFixedHeaderSize);
    rtp::write_header(out.data(), {marker, 96, sequence, timestamp, 7});
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
}

Packet nalu(uint8_t type, size_t size) {
    Packet out(size, 0x55);
    out[0] = type;
    return out;
}

void add_frame(Packet& out, uint8_t channel, const Packet& payload) {
    const uint8_t header[] = {'$', channel, static_cast<uint8_t>(payload.size() >> 8),
                              static_cast<uint8_t>(payload.size())};
    out.insert(out.end(), std::begin(header), std::end(header));
    out.insert(out.end(), payload.begin(), payload.end());
}

// The same however the bytes are cut.
std::string skim_frames(const Packet& bytes, size_t step) {
    InterleavedSkimmer skimmer;
    skimmer.rtp().add_track(true, 90'000, true);
    skimmer.rtp().add_track(false, 44'100);
    PacketRecorder recorder;
    for (size_t at = 0; at < bytes.size(); at += step) {
        auto part = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
        if (auto fed = skimmer.feed(part, recorder); !fed) return recorder.log + "error: " + fed.error().text();
    }
    return recorder.log;
}

const Packet kReport = {0x80, 200, 0, 1, 0, 0, 0, 7};

TEST(InterleavedSkimmer, FollowsFramesHoweverTheyAreCut) {
    Packet bytes;
    add_frame(bytes, 1, kReport);
    add_frame(bytes, 0, rtp_packet(0xffff, 90'000, false, nalu(0x67, 1300)));
    add_frame(bytes, 2, rtp_packet(5, 44'100, true, nalu(0, 94)));
    add_frame(bytes, 0, rtp_packet(0, 90'000, true, nalu(0x65, 200)));
    add_frame(bytes, 3, kReport);
    add_frame(bytes, 2, rtp_packet(6, 45'124, true, {}));
    for (size_t step : {1, 2, 3, 5, 16, 100, 1316, 100'000})
        EXPECT_EQ(skim_frames(bytes, step), "8@1000+94 9@1000+1500 8@1023+0 ") << "step " << step;
}

TEST(InterleavedSkimmer, RefusesWhatIsNoFrameOfATrack) {
    const std::string dollar = "error: no '$' where a frame begins", none = "error: a packet that is not RTP";
    Packet foreign, empty, not_rtp, not_rtcp, behind;
    add_frame(foreign, 4, kReport);
    add_frame(empty, 0, {});
    add_frame(not_rtp, 0, Packet(20, 0x24));
    add_frame(not_rtcp, 1, rtp_packet(1, 1, true, {}));
    add_frame(behind, 0, rtp_packet(1, 0, true, nalu(0x65, 10)));
    behind.push_back('R');
    for (size_t step : {1, 3, 1000}) {
        EXPECT_EQ(skim_frames({'R', 'T', 'S', 'P', '/', '1'}, step), dollar);
        EXPECT_EQ(skim_frames(foreign, step), "error: a frame on channel 4, which no track has");
        EXPECT_EQ(skim_frames(empty, step), none);
        EXPECT_EQ(skim_frames(not_rtp, step), none);
        EXPECT_EQ(skim_frames(not_rtcp, step), "error: a frame on the channel of RTCP that is none");
        EXPECT_EQ(skim_frames(behind, step), "9@0+10 " + dollar);
    }
}

TEST(InterleavedSkimmer, ChannelsOfTheServersChoice) {
    InterleavedSkimmer skimmer;
    skimmer.rtp().add_track(true, 90'000);
    skimmer.set_channels(0, 200, 77);
    PacketRecorder recorder;
    Packet bytes;
    add_frame(bytes, 200, rtp_packet(1, 90, true, nalu(0x65, 10)));
    add_frame(bytes, 77, kReport);
    ASSERT_TRUE(skimmer.feed(bytes, recorder));
    EXPECT_EQ(recorder.log, "9@1+10 ");
    Packet old;
    add_frame(old, 0, rtp_packet(2, 90, true, nalu(0x65, 10)));
    EXPECT_FALSE(skimmer.feed(old, recorder)) << "a channel that the server did not choose was accepted";
}

class RtpSkimmerTest : public testing::Test {
  protected:
    RtpSkimmerTest() { skimmer_.add_track(true, 90'000, true); }
    void take(const Packet& packet) {
        auto head = std::span(packet).first(std::min(packet.size(), kPacketHeadBytes));
        ASSERT_TRUE(skimmer_.packet(0, head, packet.size(), recorder_));
    }
    RtpSkimmer skimmer_;
    PacketRecorder recorder_;
};

TEST_F(RtpSkimmerTest, CountsWhatIsMissingAndLate) {
    take(rtp_packet(0xfffe, 0, true, nalu(0x41, 10)));
    take(rtp_packet(1, 90, true, nalu(0x41, 11)));  // 0xffff and 0 are not there
    take(rtp_packet(0, 45, true, nalu(0x41, 12)));  // it comes late: of no unit
    take(rtp_packet(2, 135, true, nalu(0x41, 13)));
    EXPECT_EQ(recorder_.log, "9@0+10 missing:2 9@1+11 missing:-1 9@1+13 ");
}

TEST_F(RtpSkimmerTest, AUnitThatIsCutByALossIsNotPutTogether) {
    take(rtp_packet(1, 0, false, nalu(0x41, 100)));
    take(rtp_packet(3, 0, true, nalu(0x41, 20)));
    EXPECT_EQ(recorder_.log, "missing:1 9@0+20 ");
}

// What mark_of() finds a mark in.
TEST_F(RtpSkimmerTest, TheHeadIsThatOfTheFirstSlice) {
    take(rtp_packet(1, 0, false, nalu(0x67, 20)));
    take(rtp_packet(2, 0, false, {0x7c, 0x85, 1, 2, 3}));  // FU-A, its beginning
    take(rtp_packet(3, 0, false, {0x7c, 0x05, 4, 5, 6}));
    take(rtp_packet(4, 0, true, nalu(0x65, 20)));
    const Packet expected = {0x27, 1, 0, 0, 0, 0, 0, 0, 0, 0x7c, 0x85, 1, 2, 3};
    EXPECT_EQ(recorder_.head, expected);
    take(rtp_packet(5, 0, true, nalu(0x06, 20)));
    EXPECT_TRUE(recorder_.head.empty()) << "a unit without a slice has the head of another one";
    take(rtp_packet(6, 0, true, nalu(0x78, 2000)));  // STAP-A
    EXPECT_EQ(recorder_.head.size(), kHeadBytes);
}

TEST_F(RtpSkimmerTest, LimitOfTracks) {
    for (size_t i = skimmer_.tracks(); i < RtpSkimmer::kMaxTracks; ++i) EXPECT_TRUE(skimmer_.add_track(false, 8000));
    EXPECT_FALSE(skimmer_.add_track(false, 8000));
    EXPECT_FALSE(RtpSkimmer().add_track(true, 0)) << "a clock rate of 0";
}

}  // namespace
}  // namespace load
