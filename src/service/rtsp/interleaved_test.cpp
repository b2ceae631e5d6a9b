#include "service/rtsp/interleaved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "media/aac.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtsp/reader.h"

namespace service::rtsp {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;

Frame audio_frame(int64_t ms, size_t bytes = 100) {
    Frame frame;
    frame.kind = Kind::kAudio;
    frame.codec = Codec::kPcmUlaw;
    frame.dts = media::from_ms(ms);
    frame.payload = base::Slice::copy(std::string(bytes, 'a'));
    return frame;
}

// The interleaved frames in the bytes, by channel.
std::map<int, std::vector<std::vector<uint8_t>>> frames_of(std::span<const uint8_t> bytes) {
    static const ::rtsp::Limits kLimits;
    ::rtsp::Reader reader(kLimits);
    std::map<int, std::vector<std::vector<uint8_t>>> frames;
    while (!bytes.empty()) {
        size_t used = 0;
        EXPECT_EQ(reader.feed(bytes, used), ::rtsp::Reader::Step::kInterleaved);
        if (used == 0) break;
        bytes = bytes.subspan(used);
        frames[reader.channel()].emplace_back(reader.payload().begin(), reader.payload().end());
    }
    return frames;
}

class RtspInterleaved : public testing::Test {
  protected:
    RtspInterleaved() {
        PlayKey key;
        key.add({Kind::kAudio, 0, Codec::kPcmUlaw, 0, 8});
        encoder_ = interleaved_format()->make_encoder(key.log_key());
        tracks_.update(audio_frame(0));
        encoder_->set_tracks(tracks_);
    }
    std::vector<uint8_t> encoded(const Frame& frame) {
        std::vector<uint8_t> bytes(encoder_->encoded_size(frame));
        if (!bytes.empty()) encoder_->encode(frame, bytes.data());
        return bytes;
    }
    media::TrackSet tracks_;
    std::unique_ptr<live::WireEncoder> encoder_;
};

TEST_F(RtspInterleaved, WritesPacketsOfTheKeysChannelAndType) {
    auto first = frames_of(encoded(audio_frame(1'000)));
    auto second = frames_of(encoded(audio_frame(1'020)));
    ASSERT_EQ(first.size(), 1u);
    ASSERT_EQ(first[8].size(), 1u);
    const auto before = rtp::PacketView::parse(first[8][0]), after = rtp::PacketView::parse(second[8][0]);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->payload_type(), 0);
    EXPECT_EQ(before->payload().size(), 100u);
    EXPECT_EQ(before->timestamp(), 8'000u);
    EXPECT_EQ(after->timestamp() - before->timestamp(), 160u);
    EXPECT_EQ(static_cast<uint16_t>(after->sequence() - before->sequence()), 1u);
}

TEST_F(RtspInterleaved, StateOfAStartIsTheSequenceNumberOfItsPacket) {
    auto bytes = frames_of(encoded(audio_frame(0)));
    const auto packet = rtp::PacketView::parse(bytes[8][0]);
    EXPECT_EQ(sequence_at(encoder_->save_start_state(), 0), packet->sequence());
    EXPECT_EQ(sequence_at(encoder_->save_start_state(), 2), std::nullopt);
}

TEST_F(RtspInterleaved, PrefixIsAReportOnTheSecondChannel) {
    (void)encoded(audio_frame(2'000));
    base::SliceBuilder prefix;
    encoder_->encode_prefix(tracks_, media::from_ms(2'000), true, prefix);
    auto frames = frames_of(prefix.bytes());
    ASSERT_EQ(frames.size(), 1u);
    ASSERT_EQ(frames[9].size(), 1u);
    EXPECT_EQ(frames[9][0][1], 200) << "a sender report";
    EXPECT_EQ(rtp::get_u32(frames[9][0].data() + 16), 16'000u) << "its RTP timestamp is that of the start";
}

TEST_F(RtspInterleaved, ReportsEveryFiveSeconds) {
    size_t reports = 0;
    for (int64_t ms = 0; ms < 12'000; ms += 20) reports += frames_of(encoded(audio_frame(ms)))[9].size();
    EXPECT_EQ(reports, 2u) << "at 5 and 10 s; the first one is in the prefix";
}

TEST_F(RtspInterleaved, FramesOfAnotherCodecAreNotSent) {
    Frame other = audio_frame(0);
    other.codec = Codec::kPcmAlaw;
    EXPECT_EQ(encoder_->encoded_size(other), 0u);
    other = audio_frame(0);
    other.track = 1;
    EXPECT_EQ(encoder_->encoded_size(other), 0u);
    EXPECT_TRUE(encoder_->carries(Kind::kAudio));
    EXPECT_FALSE(encoder_->carries(Kind::kVideo));
}

// Video and AAC.
class RtspInterleavedAac : public testing::Test {
  protected:
    RtspInterleavedAac() {
        PlayKey key;
        key.add({Kind::kVideo, 0, Codec::kH264, 96, 0});
        key.add({Kind::kAudio, 0, Codec::kAac, 97, 2});
        encoder_ = interleaved_format()->make_encoder(key.log_key());
        Frame header = aac_frame(0);
        header.sequence_header = true;
        header.payload = media::make_aac_config(2, 48'000, 2);
        tracks_.update(header);
    }
    static Frame aac_frame(int64_t index) {
        Frame frame;
        frame.kind = Kind::kAudio;
        frame.codec = Codec::kAac;
        frame.dts = media::from_ticks(1024 * index, 48'000);
        frame.payload = base::Slice::copy(std::string(100, 'a'));
        return frame;
    }
    // Access units of each packet that comes for so many frames.
    std::string counts(int frames) {
        std::string text;
        for (; frames > 0; --frames) {
            const Frame frame = aac_frame(next_++);
            std::vector<uint8_t> bytes(encoder_->encoded_size(frame));
            if (bytes.empty()) continue;
            encoder_->encode(frame, bytes.data());
            auto channels = frames_of(bytes);
            reports_ += channels[3].size();
            for (const auto& data : channels[2])
                text += std::to_string(rtp::get_u16(rtp::PacketView::parse(data)->payload().data()) / 16) + " ";
        }
        return text;
    }
    media::TrackSet tracks_;
    std::unique_ptr<live::WireEncoder> encoder_;
    int64_t next_ = 0;
    size_t reports_ = 0;
};

TEST_F(RtspInterleavedAac, FramesShareAPacketAtIntervals) {
    encoder_->set_interval(300);
    encoder_->set_tracks(tracks_);
    EXPECT_EQ(counts(12), "5 5 ");
    (void)counts(700);
    EXPECT_EQ(reports_, 3u) << "in 15 s, though most frames write nothing";
}

TEST_F(RtspInterleavedAac, EachFrameHasItsPacketWhereItIsSentAtOnce) {
    encoder_->set_interval(0);
    encoder_->set_tracks(tracks_);
    EXPECT_EQ(counts(3), "1 1 1 ");
}

}  // namespace
}  // namespace service::rtsp
