// Frames through the muxer and back through the demuxer must be unchanged.

#include <gtest/gtest.h>

#include <random>

#include "media/audio_headers.h"
#include "media/h265.h"
#include "protocol/ts/conformance_testing.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/segment_muxer.h"
#include "protocol/ts/ts_testing.h"

namespace ts {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using testing::PacketCollector;
using Random = std::mt19937;

constexpr int64_t kDelay = 700;

struct ToFrames final : DemuxerSink {
    std::vector<Frame> frames;
    std::vector<ProgramMap> programs;
    FrameReader reader{[this](Frame frame) { frames.push_back(std::move(frame)); }};
    void on_pes(PesPacket packet) override { reader.take(packet); }
    void on_program(const ProgramMap& program) override { programs.push_back(program); }
};

int number(Random& random, int least, int most) { return std::uniform_int_distribution(least, most)(random); }

// No zeros: no start code, no emulation prevention.
void append_noise(std::vector<uint8_t>& out, Random& random, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(number(random, 1, 255)));
}

base::Slice hevc_config() {
    auto vps = base::hex("40 01 0c 01 ff ff 01 60 00 00 03 00 b0 00 00 03 00 00 03 00 5d 15 c0 90");
    auto sps = base::hex(
        "42 01 01 01 60 00 00 03 00 b0 00 00 03 00 00 03 00 5d a0 03 c0 80 10 e5 8d ae 49 32 f4 dc 04 04 04 02");
    auto pps = base::hex("44 01 c0 f2 f0 3c 90");
    return media::make_hevc_config(vps, sps, pps).value();
}

Frame random_video_frame(Random& random, Codec codec, int64_t dts, bool keyframe) {
    std::vector<uint8_t> payload;
    base::ByteWriter w(payload);
    for (int units = number(random, 1, 4); units > 0; --units) {
        std::vector<uint8_t> unit;
        if (codec == Codec::kHevc)
            unit = {static_cast<uint8_t>((keyframe ? 19 : 1) << 1), 1};
        else
            unit = {static_cast<uint8_t>(keyframe ? 0x65 : 0x41)};
        size_t most = number(random, 0, 9) == 0 ? 100'000 : 700;
        append_noise(unit, random, static_cast<size_t>(number(random, 1, static_cast<int>(most))));
        w.u32(static_cast<uint32_t>(unit.size()));
        w.bytes(unit);
    }
    Frame frame = testing::frame(codec, base::Slice::copy(payload), dts);
    frame.keyframe = keyframe;
    frame.cts = media::from_ms(number(random, 0, 3) * 40);
    return frame;
}

Frame random_audio_frame(Random& random, Codec codec, int64_t dts) {
    std::vector<uint8_t> payload;
    if (codec == Codec::kMp3) {
        payload = {0xff, 0xfb, 0x90, 0x64};  // 44.1 kHz, 128 kbit/s: 417 bytes
        append_noise(payload, random, 413);
    } else if (codec == Codec::kOpus) {
        payload = {0x7c};  // 20 ms, stereo
        append_noise(payload, random, static_cast<size_t>(number(random, 1, 1200)));
    } else if (codec == Codec::kAc3) {
        payload = {0x0b, 0x77, 0, 0, 0x14, 0x40, 0x43};  // 48 kHz, 192 kbit/s: 768 bytes
        append_noise(payload, random, 761);
    } else {
        append_noise(payload, random, static_cast<size_t>(number(random, 1, 900)));
    }
    return testing::frame(codec, base::Slice::copy(payload), dts);
}

struct Recipe {
    Codec video, audio;
    int64_t audio_pes_ms;
    int64_t start_ms;
};

std::string name(const Frame& frame) {
    return fmt::format("{}{}{} dts {} cts {} {} bytes", media::codec_info(frame.codec).name,
                       frame.sequence_header ? " header" : "", frame.keyframe ? " key" : "", media::to_ms(frame.dts),
                       media::to_ms(frame.cts), frame.payload.size());
}

std::vector<Frame> of_kind(const std::vector<Frame>& frames, Kind kind) {
    std::vector<Frame> out;
    for (const Frame& frame : frames)
        if (frame.kind == kind && !frame.sequence_header) out.push_back(frame);
    return out;
}

// Audio frames of the codec's own duration, and video frames every 40 ms, in the order of time.
std::vector<Frame> stream(Random& random, const Recipe& recipe, int64_t ms) {
    double step = recipe.audio == Codec::kOpus ? 20 : recipe.audio == Codec::kAc3 ? 32 : 1024.0 / 44.1;
    if (recipe.audio == Codec::kMp3) step = 1152.0 / 44.1;
    std::vector<Frame> frames;
    double audio_at = 0;
    for (int64_t at = 0; at < ms; at += 40) {
        if (recipe.video != Codec::kNone)
            frames.push_back(random_video_frame(random, recipe.video, recipe.start_ms + at, at % 1000 == 0));
        for (; recipe.audio != Codec::kNone && audio_at < static_cast<double>(at + 40); audio_at += step)
            frames.push_back(
                random_audio_frame(random, recipe.audio, recipe.start_ms + static_cast<int64_t>(audio_at)));
    }
    return frames;
}

void put_headers(SegmentMuxer& muxer, const Recipe& recipe, PacketSink& sink) {
    std::vector<Frame> headers;
    if (recipe.video == Codec::kH264) headers.push_back(testing::avc_header());
    if (recipe.video == Codec::kHevc) headers.push_back(testing::header(Codec::kHevc, hevc_config()));
    if (recipe.audio == Codec::kAac) headers.push_back(testing::aac_header());
    for (const Frame& header : headers) ASSERT_TRUE(muxer.write(header, sink));
}

void check_round_trip(const Recipe& recipe, unsigned seed) {
    SCOPED_TRACE(fmt::format("{} {} pes {} ms start {} seed {}", media::codec_info(recipe.video).name,
                             media::codec_info(recipe.audio).name, recipe.audio_pes_ms, recipe.start_ms, seed));
    Random random(seed);
    auto frames = stream(random, recipe, 4000);
    SegmentMuxer muxer({.audio_pes = media::from_ms(recipe.audio_pes_ms)});
    testing::Conformance conformance;
    ToFrames back;
    Demuxer demuxer(back);
    PacketCollector sink;
    put_headers(muxer, recipe, sink);
    int64_t cut = -1'000'000;
    auto end_segment = [&] {
        muxer.flush(sink);
        conformance.segment(sink.bytes);
        for (size_t at = 0; at < sink.bytes.size();) {
            size_t take = std::min(sink.bytes.size() - at, static_cast<size_t>(number(random, 1, 2000)));
            demuxer.feed({&sink.bytes[at], take});
            at += take;
        }
        demuxer.finish();
        sink.bytes.clear();
    };
    for (const Frame& frame : frames) {
        bool may_cut = recipe.video == Codec::kNone || frame.keyframe;
        if (may_cut && media::to_ms(frame.dts) - cut >= 1000) {
            if (cut >= 0) end_segment();
            cut = media::to_ms(frame.dts);
            muxer.begin_segment();
        }
        ASSERT_TRUE(muxer.write(frame, sink));
    }
    end_segment();
    EXPECT_EQ(conformance.text(), "");
    // A codec without a sequence header is known only from its first frame, which follows the first video frame.
    bool late = recipe.video != Codec::kNone && recipe.audio != Codec::kNone && recipe.audio != Codec::kAac;
    EXPECT_EQ(back.programs.size(), late ? 2u : 1u);
    EXPECT_EQ(back.reader.damaged() + back.reader.unreadable(), 0u);
    for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
        auto in = of_kind(frames, kind), out = of_kind(back.frames, kind);
        ASSERT_EQ(in.size(), out.size());
        for (size_t i = 0; i < in.size(); ++i) {
            in[i].dts += media::from_ms(kDelay);
            // Inside a PES packet times are counted in samples.
            if (kind == Kind::kAudio && media::distance(in[i].dts, out[i].dts) <= media::from_ms(1))
                in[i].dts = out[i].dts;
            ASSERT_EQ(name(in[i]), name(out[i])) << i;
            ASSERT_EQ(in[i].payload, out[i].payload) << i << " " << name(in[i]);
        }
    }
}

TEST(RoundTrip, EveryCodec) {
    for (Codec video : {Codec::kH264, Codec::kHevc, Codec::kNone})
        for (Codec audio : {Codec::kAac, Codec::kMp3, Codec::kOpus, Codec::kAc3, Codec::kNone}) {
            if (video == audio) continue;
            for (int64_t pes_ms : {0, 200})
                for (unsigned seed = 1; seed < 4; ++seed) check_round_trip({video, audio, pes_ms, 0}, seed);
        }
}

// 2^33 ticks are 95,443,717.7 ms, 26.5 hours; at half of it the highest bit changes.
TEST(RoundTrip, AnSpsThatFlvRefusesIsNoHeader) {
    std::vector<media::Frame> frames;
    FrameReader reader([&](media::Frame frame) { frames.push_back(std::move(frame)); });
    const auto send = [&](std::string_view sps) {
        PesPacket packet;
        packet.stream.codec = media::Codec::kH264;
        packet.dts = packet.pts = 0;
        packet.payload = base::Slice::copy(
            base::hex("00000001" + std::string(sps) + "00000001" + "68ebecb22c" + "00000001" + "658882"));
        reader.take(packet);
    };
    send("67640020acd940c078b011000003000100000300320f183196");  // cropped to nothing
    ASSERT_EQ(frames.size(), 1u) << "the frame without its configuration";
    EXPECT_FALSE(frames[0].sequence_header);
    EXPECT_EQ(reader.unreadable(), 1u);
    send("6742c01ed900a047fec8");
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_TRUE(frames[1].sequence_header);
}

TEST(RoundTrip, TimesWrap) {
    constexpr int64_t kWrap = 95'443'717;
    for (int64_t wrap : {kWrap / 2, kWrap})
        for (int64_t before : {2000, 1000, 700, 350})
            for (Codec video : {Codec::kH264, Codec::kNone})
                check_round_trip({video, Codec::kAac, before % 1000 ? 200 : 0, wrap - kDelay - before}, 7);
}

TEST(RoundTrip, HeadersComeBack) {
    SegmentMuxer muxer;
    PacketCollector sink;
    put_headers(muxer, {Codec::kHevc, Codec::kAac, 0, 0}, sink);
    Random random(1);
    ASSERT_TRUE(muxer.write(random_video_frame(random, Codec::kHevc, 0, true), sink));
    ASSERT_TRUE(muxer.write(random_audio_frame(random, Codec::kAac, 0), sink));
    muxer.flush(sink);
    ToFrames back;
    Demuxer demuxer(back);
    demuxer.feed(sink.bytes);
    demuxer.finish();
    ASSERT_EQ(back.frames.size(), 4u);
    EXPECT_TRUE(back.frames[0].sequence_header);
    EXPECT_EQ(back.frames[0].payload, hevc_config());
    EXPECT_TRUE(back.frames[2].sequence_header);
    EXPECT_EQ(back.frames[2].payload, testing::aac_header().payload);
}

}  // namespace
}  // namespace ts
