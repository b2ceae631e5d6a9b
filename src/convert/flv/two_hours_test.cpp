// Two hours of frames at 24000/1001 and 60000/1001 a second and of AAC at 44.1 kHz, written to each format and read
// back: no time is off by more than half a tick of the format.

#include <gtest/gtest.h>

#include <functional>

#include "base/hex_testing.h"
#include "convert/flv/to_flv.h"
#include "media/aac.h"
#include "media/h264.h"
#include "media/nalu.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/mp4/fragment.h"
#include "protocol/mp4/testing/demuxer.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/segment_muxer.h"

namespace convert {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using media::Time;

constexpr Time kLength = std::chrono::hours(2);
constexpr int64_t kVideoTimescales[] = {24'000, 60'000};
constexpr int kRate = 44'100;

Frame header(Codec codec, base::Slice payload) {
    Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.sequence_header = true;
    frame.payload = std::move(payload);
    return frame;
}

Frame avc_header() {
    return header(Codec::kH264, *media::make_avc_config(base::hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"),
                                                        base::hex("68c888cb20")));
}
Frame aac_header() { return header(Codec::kAac, media::make_aac_config(2, kRate, 2)); }

base::Slice nal_unit(bool keyframe) {
    base::SliceBuilder builder;
    media::append_length_prefixed(builder, base::hex(keyframe ? "658884" : "419a22"));
    return builder.freeze();
}

// All frames in order of their times. One video frame in ten is presented a frame later than it is decoded.
void for_each_frame(int64_t timescale, const std::function<void(const Frame&)>& use) {
    Frame video = avc_header(), audio = aac_header();
    video.sequence_header = audio.sequence_header = false;
    audio.payload = base::Slice::copy(base::hex("21004990021920"));
    const base::Slice key = nal_unit(true), other = nal_unit(false);
    for (int64_t i = 0; video.dts < kLength; ++i) {
        video.keyframe = i % 240 == 0;
        video.cts = i % 10 == 5 ? media::from_ticks(1'001, timescale) : Time(0);
        video.payload = video.keyframe ? key : other;
        use(video);
        video.dts = media::from_ticks((i + 1) * 1'001, timescale);
        for (; audio.dts < video.dts; audio.dts += media::from_ticks(1'024, kRate)) use(audio);
    }
}

// The frames read back, in the order in which they were written; each is compared with the original.
class Comparison {
  public:
    explicit Comparison(int64_t timescale) {
        for_each_frame(timescale, [&](const Frame& frame) { times_of(frame.kind).push_back({frame.dts, frame.cts}); });
    }
    // The tolerance of a kind's times.
    void expect(Kind kind, Time tolerance) { tolerance_[kind == Kind::kAudio] = tolerance; }
    // A delay that the format adds to each time.
    void expect_delay(Time delay) { delay_ = delay; }
    void take(const Frame& frame) {
        if (frame.sequence_header || frame.kind == Kind::kData) return;
        const size_t at = next_[frame.kind == Kind::kAudio]++;
        ASSERT_LT(at, times_of(frame.kind).size());
        const auto& [dts, cts] = times_of(frame.kind)[at];
        const Time tolerance = tolerance_[frame.kind == Kind::kAudio];
        ASSERT_LE(media::distance(frame.dts - delay_, dts), tolerance) << at << ", kind " << int(frame.kind);
        ASSERT_LE(media::distance(frame.pts() - delay_, dts + cts), tolerance) << at;
    }
    void finish() {
        EXPECT_EQ(next_[0], times_[0].size());
        EXPECT_EQ(next_[1], times_[1].size());
    }

  private:
    std::vector<std::pair<Time, Time>>& times_of(Kind kind) { return times_[kind == Kind::kAudio]; }
    std::vector<std::pair<Time, Time>> times_[2];
    size_t next_[2] = {0, 0};
    Time tolerance_[2] = {};
    Time delay_{};
};

Time half_a_tick(int64_t rate) { return media::from_ticks(1, rate) / 2; }

// In FLV and RTMP: in ms. The exact times of audio are recovered from its samples.
TEST(TwoHours, Flv) {
    for (int64_t timescale : kVideoTimescales) {
        Comparison comparison(timescale);
        comparison.expect(Kind::kVideo, half_a_tick(1'000));
        comparison.expect(Kind::kAudio, half_a_tick(1'000));
        FlvEncoder encoder{FlvOptions{}};
        flv::Reader reader;
        flv::BodyParser parser;
        base::SliceBuilder head;
        flv::put_file_header(head.extend(flv::kFileHeaderSize), true, true);
        reader.feed(head.freeze());
        auto pass = [&](const Frame& frame) {
            base::SliceBuilder out;
            encoder.encode(frame, out.extend(encoder.encoded_size(frame)));
            reader.feed(out.freeze());
            for (auto tag = reader.next(); tag && *tag; tag = reader.next()) {
                auto parsed = parser.parse((*tag)->type, (*tag)->body, (*tag)->timestamp);
                ASSERT_TRUE(parsed && parsed->frame);
                comparison.take(*parsed->frame);
            }
        };
        pass(avc_header());
        pass(aac_header());
        for_each_frame(timescale, pass);
        comparison.finish();
    }
}

struct FromTs final : ts::PacketSink, private ts::DemuxerSink {
    explicit FromTs(Comparison& comparison) : comparison_(comparison) {}
    void write(std::span<const uint8_t> packets) override { demuxer_.feed(packets); }
    void finish() { demuxer_.finish(); }

  private:
    void on_pes(ts::PesPacket packet) override { reader_.take(packet); }
    Comparison& comparison_;
    ts::FrameReader reader_{[this](const Frame& frame) { comparison_.take(frame); }};
    ts::Demuxer demuxer_{*this};
};

// Audio frames share a PES packet: only the first one's time is written, the others are counted.
TEST(TwoHours, MpegTs) {
    for (int64_t timescale : kVideoTimescales) {
        Comparison comparison(timescale);
        const ts::SegmentMuxerOptions options;
        comparison.expect(Kind::kVideo, half_a_tick(90'000));
        comparison.expect(Kind::kAudio, half_a_tick(90'000));
        comparison.expect_delay(options.delay);
        FromTs sink(comparison);
        ts::SegmentMuxer muxer(options);
        auto pass = [&](const Frame& frame) { ASSERT_TRUE(muxer.write(frame, sink)); };
        pass(avc_header());
        pass(aac_header());
        for_each_frame(timescale, pass);
        muxer.flush(sink);
        sink.finish();
        comparison.finish();
    }
}

// Fragments of 10 s, each read independently.
TEST(TwoHours, FragmentedMp4) {
    for (int64_t timescale : kVideoTimescales) {
        Comparison comparison(timescale);
        comparison.expect(Kind::kVideo, half_a_tick(mp4::kVideoTimescale));
        comparison.expect(Kind::kAudio, half_a_tick(kRate));
        mp4::FragmentBuilder builder;
        ASSERT_TRUE(builder.set_header(avc_header()) && builder.set_header(aac_header()));
        const std::vector<uint8_t> init = builder.init_segment();
        auto cut = [&](std::optional<Time> next) {
            std::vector<uint8_t> file = init;
            for (auto piece : builder.cut({.next_video_dts = next}).pieces)
                file.insert(file.end(), piece.begin(), piece.end());
            auto read = mp4::demux(file);
            ASSERT_TRUE(read);
            for (size_t i = 0; i < read->samples.size(); ++i)
                for (const mp4::Sample& sample : read->samples[i])
                    comparison.take(mp4::frame_of(file, read->movie.tracks[i].track, sample));
        };
        for_each_frame(timescale, [&](const Frame& frame) {
            if (frame.kind == Kind::kVideo && builder.span() >= std::chrono::seconds(10)) cut(frame.dts);
            ASSERT_TRUE(builder.add(frame));
        });
        cut(std::nullopt);
        comparison.finish();
    }
}

}  // namespace
}  // namespace convert
