#include "convert/ts/to_ts.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "live/fanout/live_log.h"
#include "live/hub/stream.h"
#include "live/hub/testing.h"
#include "media/h264.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"

namespace convert {
namespace {

using live::testing::audio;
using live::testing::header;
using media::Codec;
using media::Kind;

media::Frame avc_header() {
    media::Frame frame = header(Kind::kVideo, "");
    frame.payload = media::make_avc_config(base::hex("6742c01ed900a047fec8"), base::hex("68cb83cb20")).value();
    return frame;
}
media::Frame aac_header() { return header(Kind::kAudio, "\x12\x10"); }
media::Frame video_frame(int64_t dts, bool keyframe) {
    std::string unit = (keyframe ? "\x65" : "\x41") + std::to_string(dts);
    return live::testing::video(dts, keyframe, std::string("\0\0\0", 3) + static_cast<char>(unit.size()) + unit);
}

// What a viewer makes of bytes: "H264 40", "AAC 63" ...
struct Viewed final : ts::DemuxerSink {
    std::string seen;
    std::string programs;
    ts::FrameReader reader{[this](media::Frame frame) {
        seen += (seen.empty() ? "" : ", ") + std::string(media::codec_info(frame.codec).name) +
                (frame.track ? "/" + std::to_string(frame.track) : "") +
                (frame.sequence_header ? " header" : " " + std::to_string(media::to_ms(frame.dts) - 700));
    }};
    ts::Demuxer demuxer{*this};
    void on_pes(ts::PesPacket packet) override { reader.take(packet); }
    void on_program(const ts::ProgramMap& program) override {
        programs += "v" + std::to_string(program.version) + ":";
        for (const auto& stream : program.streams) {
            programs += std::string(media::codec_info(stream.codec).name) + " ";
            if (stream.language != media::Language{}) programs += media::to_string(stream.language) + " ";
        }
    }
    void feed(std::span<const uint8_t> bytes) { demuxer.feed(bytes); }
};

// A stream whose log is fed by hand.
const live::WireFormat kTs{
    "ts", [](const live::LogKey&) -> std::unique_ptr<live::WireEncoder> { return std::make_unique<TsEncoder>(); }};

class TsLog : public testing::Test, private live::PublicationOwner {
  protected:
    void SetUp() override {
        live::LiveOptions options;
        options.audio_cache_ms = 10'000;
        stream_ = base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, options);
        publication_ = stream_->acquire(*this, false).value();
    }
    live::LiveLog& log() { return stream_->log({&kTs, {}}); }
    void publish(media::Frame frame) { publication_.publish(std::move(frame)); }
    // What a viewer receives that begins there.
    Viewed view(live::LiveLog::Start& start) {
        Viewed viewed;
        viewed.feed(log().prefix(start, true));
        viewed.feed(log().copy(start.offset, log().head()));
        viewed.demuxer.finish();
        return viewed;
    }
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}

    base::Ref<live::Stream> stream_;
    live::Publication publication_;
};

TEST_F(TsLog, AViewerBeginsAtAKeyframe) {
    (void)log();
    publish(avc_header());
    publish(aac_header());
    for (int64_t at = 0; at < 400; at += 40) {
        publish(video_frame(at, at % 200 == 0));
        publish(audio(at + 10));
    }
    auto* newest = log().start_for_new_viewer(0);
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->dts, media::from_ms(200));
    auto viewed = view(*newest);
    EXPECT_EQ(viewed.seen,
              "H264 header, H264 200, AAC header, AAC 210, H264 240, AAC 250, H264 280, AAC 290, H264 320, AAC 330, "
              "H264 360, AAC 370");
    EXPECT_TRUE(log().prefix(*newest, true).empty());  // its tables are in the log
    EXPECT_EQ(viewed.programs, "v0:H264 AAC ");
    EXPECT_EQ(viewed.demuxer.counters().continuity_errors + viewed.demuxer.counters().duplicates, 0u);
}

TEST_F(TsLog, AViewerBeginsAtAnyAudioFrame) {
    (void)log();
    publish(aac_header());
    for (int64_t at = 0; at < 7000; at += 500) publish(audio(at));
    int starts = 0;
    for (uint64_t at = 0; live::LiveLog::Start* start = log().next_start(at); at = start->offset + 1) {
        auto viewed = view(*start);
        const int64_t ms = media::to_ms(start->dts);
        EXPECT_TRUE(viewed.seen.starts_with("AAC header, AAC " + std::to_string(ms))) << viewed.seen;
        EXPECT_EQ(viewed.demuxer.counters().continuity_errors + viewed.demuxer.counters().duplicates, 0u) << ms;
        EXPECT_EQ(log().prefix(*start, true).empty(), ms % 2000 == 0) << ms;
        ++starts;
    }
    EXPECT_EQ(starts, 14);
}

TEST_F(TsLog, NewHeadersANewProgram) {
    (void)log();
    publish(aac_header());
    publish(audio(0));
    publish(audio(20));
    publish(avc_header());
    publish(video_frame(40, true));
    publish(audio(50));
    Viewed viewed;
    viewed.feed(log().copy(0, log().head()));
    viewed.demuxer.finish();
    EXPECT_EQ(viewed.programs, "v0:AAC v1:H264 AAC ");
    EXPECT_EQ(viewed.seen, "AAC header, AAC 0, AAC 20, H264 header, H264 40, AAC 50");
    EXPECT_EQ(viewed.demuxer.counters().continuity_errors, 0u);
    auto* start = log().next_start(1);
    ASSERT_TRUE(start);
    EXPECT_EQ(view(*start).programs, "v1:H264 AAC ");  // no one begins with the audio alone any more
}

media::Frame on_track(uint8_t index, media::Frame frame) {
    frame.track = index;
    return frame;
}

TEST_F(TsLog, AllTracksCome) {
    (void)log();
    for (const media::Frame& header : {avc_header(), aac_header()})
        for (uint8_t index : {0, 1}) publish(on_track(index, header));
    for (int64_t at = 0; at < 120; at += 40)
        for (uint8_t index : {0, 1}) {
            publish(on_track(index, video_frame(at + index, at == 0)));
            publish(on_track(index, audio(at + 10 + index)));
        }
    auto* start = log().start_for_new_viewer(0);
    ASSERT_TRUE(start);
    auto viewed = view(*start);
    EXPECT_EQ(viewed.programs, "v0:H264 H264 AAC AAC ");
    EXPECT_EQ(viewed.seen,
              "H264 header, H264 0, AAC header, AAC 10, H264/1 header, H264/1 1, AAC/1 header, AAC/1 11, H264 40, "
              "AAC 50, H264/1 41, AAC/1 51, H264 80, AAC 90, H264/1 81, AAC/1 91");
    EXPECT_EQ(viewed.demuxer.counters().continuity_errors + viewed.demuxer.counters().duplicates, 0u);
}

TEST_F(TsLog, AViewerBeginsWithTheFirstTrackThatIsCarried) {
    (void)log();
    publish(on_track(1, avc_header()));
    publish(on_track(1, aac_header()));
    for (int64_t at = 0; at < 120; at += 40) {
        media::Frame vp9 = live::testing::video(at, at == 0, "vp9");
        vp9.codec = Codec::kVp9;
        media::Frame flac = audio(at + 5);
        flac.codec = Codec::kFlac;
        publish(vp9);
        publish(flac);
        publish(on_track(1, video_frame(at + 1, at == 40)));
        publish(on_track(1, audio(at + 10)));
    }
    auto* start = log().start_for_new_viewer(0);
    ASSERT_TRUE(start);
    EXPECT_EQ(view(*start).seen, "H264 header, H264 41, AAC header, AAC 50, H264 81, AAC 90");
}

TEST(TsEncoder, TheTablesBeforeAFrame) {
    TsEncoder encoder;
    media::TrackSet tracks;
    tracks.describe({{Kind::kAudio, 0, "en-GB"}, {Kind::kAudio, 1, "de"}});
    for (uint8_t index : {0, 1}) tracks.update(on_track(index, aac_header()));
    encoder.set_tracks(tracks);
    for (int64_t at : {0, 20}) {
        const media::Frame frame = audio(at);
        std::vector<uint8_t> out(encoder.encoded_size(frame));
        encoder.encode(frame, out.data());
        encoder.restore_start_state(encoder.save_start_state());
        base::SliceBuilder prefix;
        encoder.encode_prefix(tracks, {}, true, prefix);
        EXPECT_EQ(prefix.size(), at == 0 ? 0 : 2 * ts::kPacketSize);
        Viewed viewed;
        viewed.feed(prefix.freeze());
        viewed.feed(out);
        viewed.demuxer.finish();
        EXPECT_EQ(viewed.programs, "v0:AAC eng AAC deu ");
        EXPECT_EQ(viewed.seen, "AAC header, AAC " + std::to_string(at));
    }
}

TEST(TsEncoder, WhatIsCarried) {
    TsEncoder encoder;
    EXPECT_TRUE(encoder.carries(Kind::kVideo));
    media::TrackSet tracks;
    media::Frame vp9;
    vp9.kind = Kind::kVideo;
    vp9.codec = Codec::kVp9;
    tracks.update(vp9);
    tracks.update(aac_header());
    encoder.set_tracks(tracks);
    EXPECT_FALSE(encoder.carries(Kind::kVideo));  // so that viewers begin with the audio
    EXPECT_TRUE(encoder.carries(Kind::kAudio));
    EXPECT_EQ(encoder.encoded_size(live::testing::metadata()), 0u);
    EXPECT_EQ(encoder.encoded_size(video_frame(0, true)), 0u);
    EXPECT_GT(encoder.encoded_size(audio(0)), 0u);
}

}  // namespace
}  // namespace convert
