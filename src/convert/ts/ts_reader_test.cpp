#include "convert/ts/ts_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "base/hex_testing.h"
#include "media/aac.h"
#include "media/h264.h"
#include "protocol/ts/segment_muxer.h"

namespace convert {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using Bytes = std::vector<uint8_t>;

struct SentPackets final : ts::PacketSink {
    Bytes bytes;
    void write(std::span<const uint8_t> packets) override { bytes.insert(bytes.end(), packets.begin(), packets.end()); }
};

Frame sent_frame(Codec codec, Bytes payload, int64_t dts_ms, int64_t cts_ms = 0) {
    Frame frame;
    frame.codec = codec;
    frame.kind = media::codec_info(codec).kind;
    frame.dts = media::from_ms(dts_ms);
    frame.cts = media::from_ms(cts_ms);
    frame.payload = base::Slice::copy(payload);
    return frame;
}

Frame sent_video(int64_t dts_ms, bool keyframe, int64_t cts_ms = 0) {
    Frame frame = sent_frame(Codec::kH264, base::hex(keyframe ? "00 00 00 04 65 88 84 21" : "00 00 00 04 41 9a 24 6c"),
                             dts_ms, cts_ms);
    frame.keyframe = keyframe;
    return frame;
}

Frame sent_audio(int64_t dts_ms) { return sent_frame(Codec::kAac, base::hex("21 10 04 60 8c 1c"), dts_ms); }

// An encoder, with its continuity counters.
class SentEncoder {
  public:
    SentEncoder() : muxer_({.audio_pes = media::Time(0)}) {
        const auto avc =
            media::make_avc_config(base::hex("67 42 c0 1e d9 00 a0 47 fe c8"), base::hex("68 cb 83 cb 20"));
        header(Codec::kH264, *avc);
        header(Codec::kAac, media::make_aac_config(2, 44'100, 2));
    }
    Bytes write(std::initializer_list<Frame> frames) {
        for (const Frame& frame : frames) EXPECT_TRUE(muxer_.write(frame, packets_));
        return std::exchange(packets_.bytes, {});
    }

  private:
    void header(Codec codec, base::Slice payload) {
        Frame frame = sent_frame(codec, {}, 0);
        frame.sequence_header = true;
        frame.payload = std::move(payload);
        EXPECT_TRUE(muxer_.write(frame, packets_));
    }
    ts::SegmentMuxer muxer_;
    SentPackets packets_;
};

// "V0+40k" video of dts 0 and cts 40, a keyframe; "A23"; "Vh" and "Ah" sequence headers, "!" a jump before.
std::string frames_text(const std::vector<Frame>& frames) {
    std::string all;
    for (const Frame& frame : frames) {
        if (!all.empty()) all += ' ';
        if (frame.discontinuity) all += '!';
        all += frame.kind == Kind::kVideo ? 'V' : 'A';
        if (frame.sequence_header) {
            all += 'h';
            continue;
        }
        all += std::to_string(media::to_ms(frame.dts));
        if (frame.cts != media::Time(0)) all += '+' + std::to_string(media::to_ms(frame.cts));
        if (frame.keyframe) all += 'k';
    }
    return all;
}

}  // namespace

// The muxer's times are 700 ms after the frames'.
TEST(TsReader, TimesAreTheSenders) {
    SentEncoder encoder;
    const Bytes bytes = encoder.write({sent_video(0, true, 80), sent_audio(10), sent_video(40, false, 160),
                                       sent_audio(33), sent_video(80, false, 0), sent_video(120, false, 40)});
    for (const size_t step : {1u, 100u, 188u, 1'316u, 100'000u}) {
        TsReader reader;
        std::vector<Frame> frames;
        for (size_t at = 0; at < bytes.size(); at += step)
            reader.feed(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)), 0, frames);
        reader.finish(0, frames);
        EXPECT_EQ(frames_text(frames), "Vh V700+80k Ah A710 V740+160 A733 V780 V820+40") << step;
        EXPECT_EQ(reader.counters().frames, 6u);
        EXPECT_EQ(reader.counters().packets.skipped_bytes, 0u);
    }
}

TEST(TsReader, VideoBeginsWithAKeyframe) {
    SentEncoder encoder;
    encoder.write({sent_video(0, true)});
    TsReader reader;
    std::vector<Frame> frames;
    Bytes tables;
    // Joined in the middle: the tables come with the next keyframe.
    SentEncoder other;
    const Bytes first = other.write({sent_video(0, false), sent_audio(0), sent_video(40, true), sent_video(80, false)});
    reader.feed(first, 0, frames);
    reader.finish(0, frames);
    EXPECT_EQ(frames_text(frames), "Ah A700 Vh V740k V780");
    EXPECT_EQ(reader.counters().skipped_frames, 1u);
}

TEST(TsReader, AnEncoderThatStartsAgainContinues) {
    TsReader reader;
    std::vector<Frame> frames;
    SentEncoder first, second;
    reader.feed(first.write({sent_video(50'000, true), sent_audio(50'000), sent_video(50'040, false)}), 1'000'000,
                frames);
    reader.finish(1'040'000, frames);
    EXPECT_EQ(frames_text(frames), "Vh V1000k Ah A1000 V1040");
    frames.clear();
    reader.feed(second.write({sent_video(0, true), sent_audio(23), sent_video(40, false)}), 4'040'000, frames);
    reader.finish(4'040'000, frames);
    EXPECT_EQ(frames_text(frames), "!V4080k !A4103 V4120") << "three seconds later";
    EXPECT_EQ(reader.counters().jumps, 2u);
}

TEST(TsReader, ALossCostsWhatItHits) {
    SentEncoder encoder;
    const Bytes before = encoder.write({sent_video(0, true), sent_audio(0)});
    const Bytes lost = encoder.write({sent_video(40, false), sent_audio(23)});
    const Bytes after = encoder.write({sent_video(80, false), sent_audio(46), sent_video(120, false)});
    TsReader reader;
    std::vector<Frame> frames;
    reader.feed(before, 0, frames);
    reader.on_gap(0, frames);
    reader.feed(after, 0, frames);
    reader.finish(0, frames);
    EXPECT_EQ(frames_text(frames), "Vh V700k Ah A700 V780 A746 V820");
    EXPECT_EQ(reader.counters().packets.continuity_errors, 2u);
    EXPECT_FALSE(lost.empty());
}

TEST(TsReader, MemoryIsOfWhatIsUnfinished) {
    SentEncoder encoder;
    Frame large = sent_video(40, false);
    Bytes payload(100'000, 0x55);
    base::put_u32(payload.data(), 99'996);
    payload[4] = 0x41;
    large.payload = base::Slice::copy(payload);
    const Bytes bytes = encoder.write({sent_video(0, true), large});
    TsReader reader;
    std::vector<Frame> frames;
    reader.feed(std::span(bytes).first(bytes.size() / 2), 0, frames);
    EXPECT_GE(reader.memory(), 40'000u);
    std::vector<uint64_t> unfinished;
    reader.list_unfinished(unfinished);
    EXPECT_EQ(unfinished.size(), 1u);
    reader.drop_unfinished();
    EXPECT_EQ(reader.memory(), 0u);
    reader.feed(std::span(bytes).subspan(bytes.size() / 2), 0, frames);
    reader.feed(encoder.write({sent_video(80, false)}), 0, frames);
    reader.finish(0, frames);
    EXPECT_EQ(frames_text(frames), "Vh V700k V780");
}

}  // namespace convert
