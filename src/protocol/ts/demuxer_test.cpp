#include "protocol/ts/demuxer.h"

#include <gtest/gtest.h>

#include "protocol/ts/conformance_testing.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/segment_muxer.h"
#include "protocol/ts/ts_testing.h"

namespace ts {
namespace {

using media::Codec;
using testing::audio_frame;
using testing::PacketCollector;
using testing::video_frame;
using Bytes = std::vector<uint8_t>;

// "H264 0", "AAC 23" ... with the stream's own times, without headers.
struct Seen final : DemuxerSink {
    std::string text;
    std::vector<int64_t> clocks;
    int programs = 0;
    FrameReader reader{[this](media::Frame frame) {
        if (frame.sequence_header) return;
        text += std::string(media::codec_info(frame.codec).name) + " " + std::to_string(media::to_ms(frame.dts) - 700) +
                ";";
    }};
    Demuxer demuxer{*this};
    void on_pes(PesPacket packet) override { reader.take(packet); }
    void on_program(const ProgramMap&) override { ++programs; }
    void on_clock(int64_t ticks, bool) override { clocks.push_back(ticks / 90); }
};

Bytes stream(std::initializer_list<media::Frame> frames) {
    SegmentMuxer muxer({.audio_pes = media::Time(0)});
    PacketCollector sink;
    for (const media::Frame& header : {testing::avc_header(), testing::aac_header()})
        EXPECT_TRUE(muxer.write(header, sink));
    for (const media::Frame& frame : frames) EXPECT_TRUE(muxer.write(frame, sink));
    return sink.bytes;
}

// Tables, then three packets of video frame 0, one of audio, three of frame 40, one of audio, one of frame 80.
Bytes small_stream() {
    return stream({video_frame(0, true, 450), audio_frame(10, 20), video_frame(40, false, 500), audio_frame(33, 20),
                   video_frame(80, false, 20)});
}

Bytes without(Bytes bytes, size_t packet) {
    auto at = bytes.begin() + static_cast<ptrdiff_t>(packet * kPacketSize);
    bytes.erase(at, at + kPacketSize);
    return bytes;
}

}  // namespace

TEST(Demuxer, ALostPacketCostsItsFrame) {
    Bytes whole = small_stream();
    ASSERT_EQ(whole.size(), 11 * kPacketSize);
    struct {
        size_t lost;
        std::string_view left;
        uint64_t errors;
    } table[] = {
        {3, "AAC 10;H264 40;AAC 33;H264 80;", 1},  // in the middle of video frame 0
        {4, "AAC 10;H264 40;AAC 33;H264 80;", 1},  // its end
        {5, "H264 0;H264 40;AAC 33;H264 80;", 0},  // a track's first frame: the loss cannot be detected
        {6, "H264 0;AAC 10;AAC 33;H264 80;", 1},   // the start of video frame 40
        {1, "", 0},                                // the map: nothing can be read
    };
    for (auto& row : table) {
        Seen seen;
        seen.demuxer.feed(without(whole, row.lost));
        seen.demuxer.finish();
        EXPECT_EQ(seen.text, row.left) << row.lost;
        EXPECT_EQ(seen.demuxer.counters().continuity_errors, row.errors) << row.lost;
    }
}

TEST(Demuxer, APacketTwiceIsTakenOnce) {
    Bytes bytes = small_stream();
    Bytes twice(bytes.begin() + 3 * kPacketSize, bytes.begin() + 4 * kPacketSize);
    bytes.insert(bytes.begin() + 4 * kPacketSize, twice.begin(), twice.end());
    Seen seen;
    seen.demuxer.feed(bytes);
    EXPECT_EQ(seen.text, "H264 0;AAC 10;H264 40;AAC 33;H264 80;");
    EXPECT_EQ(seen.demuxer.counters().duplicates, 1u);
    EXPECT_EQ(seen.demuxer.counters().continuity_errors, 0u);
}

TEST(Demuxer, FindsThePacketsAgain) {
    Bytes bytes = small_stream();
    bytes.insert(bytes.begin(), {0x47, 1, 2, 3});
    bytes.insert(bytes.begin() + 4 + 7 * kPacketSize, 100,
                 0x47);  // inside video frame 40: not detectable
    for (size_t step : {1u, 50u, 188u, 10'000u}) {
        Seen seen;
        for (size_t at = 0; at < bytes.size(); at += step)
            seen.demuxer.feed({&bytes[at], std::min(step, bytes.size() - at)});
        EXPECT_TRUE(seen.text.starts_with("H264 0;AAC 10;")) << seen.text;
        EXPECT_TRUE(seen.text.ends_with("AAC 33;H264 80;")) << seen.text;
        EXPECT_GE(seen.demuxer.counters().skipped_bytes, 4u);
    }
}

TEST(Demuxer, ALongPesPacketIsCut) {
    Seen unused;
    Demuxer demuxer(unused, 1000);
    demuxer.feed(stream({video_frame(0, true, 450), video_frame(40, false, 90'000), video_frame(80, false, 20)}));
    EXPECT_EQ(unused.text, "H264 0;H264 80;");
    EXPECT_EQ(demuxer.counters().too_long, 1u);
    EXPECT_EQ(unused.reader.damaged(), 1u);
}

TEST(Demuxer, BrokenTables) {
    SegmentMuxer muxer;
    PacketCollector sink;
    ASSERT_TRUE(muxer.write(testing::avc_header(), sink));
    ASSERT_TRUE(muxer.write(video_frame(0, true, 20), sink));
    size_t first = sink.bytes.size();
    muxer.begin_segment();
    ASSERT_TRUE(muxer.write(video_frame(40, true, 20), sink));
    sink.bytes[20] ^= 1;  // inside the CRC of the association table
    Seen seen;
    seen.demuxer.feed(std::span(sink.bytes).first(first + 1));
    EXPECT_EQ(seen.programs, 0);
    EXPECT_EQ(seen.demuxer.counters().bad_tables, 1u);
    seen.demuxer.feed(std::span(sink.bytes).subspan(first + 1));
    EXPECT_EQ(seen.programs, 1);
    EXPECT_EQ(seen.text, "H264 40;");
}

TEST(Clock, EveryHundredMilliseconds) {
    struct {
        std::vector<media::Frame> frames;
        std::vector<int64_t> clocks;
    } table[] = {
        {{video_frame(0, true, 20), video_frame(40, false, 20), video_frame(80, false, 20)}, {0, 40, 80}},
        // Slow video: packets that carry only the PCR in between.
        {{video_frame(0, true, 20), video_frame(100, false, 20), video_frame(500, false, 20)},
         {0, 100, 200, 300, 400, 500}},
        // Audio while there is no video.
        {{video_frame(0, true, 20), audio_frame(50, 9), audio_frame(90, 9), audio_frame(130, 9), audio_frame(190, 9),
          video_frame(200, false, 20)},
         {0, 90, 190, 200}},
        // A video frame behind the PCR carries none itself.
        {{video_frame(0, true, 20), audio_frame(90, 9), video_frame(80, false, 20), video_frame(120, false, 20)},
         {0, 90, 120}},
        // A pause is not filled.
        {{video_frame(0, true, 20), video_frame(5000, false, 20), audio_frame(9000, 9)}, {0, 5000, 9000}},
    };
    for (auto& row : table) {
        SegmentMuxer muxer({.audio_pes = media::Time(0)});
        PacketCollector sink;
        for (const media::Frame& header : {testing::avc_header(), testing::aac_header()})
            ASSERT_TRUE(muxer.write(header, sink));
        for (const media::Frame& frame : row.frames) ASSERT_TRUE(muxer.write(frame, sink));
        Seen seen;
        seen.demuxer.feed(sink.bytes);
        EXPECT_EQ(seen.clocks, row.clocks);
        EXPECT_EQ(seen.demuxer.counters().continuity_errors, 0u);
    }
}

// The checker itself must detect errors.
TEST(Conformance, NoticesWhatIsWrong) {
    Bytes good = stream({video_frame(0, true, 450), video_frame(40, false, 20), video_frame(80, false, 20),
                         video_frame(120, true, 20)});
    testing::Conformance fine;
    fine.segment(good);
    EXPECT_EQ(fine.text(), "");
    EXPECT_EQ(fine.video_frames, 4u);
    EXPECT_EQ(fine.pes_packets.at(kVideoPid), 4u);
    Bytes strange = good;
    strange[4 * kPacketSize + 2] ^= 0x40;
    auto problems = [](const Bytes& bytes) {
        testing::Conformance conformance;
        conformance.segment(bytes);
        return conformance.text();
    };
    EXPECT_NE(problems(without(good, 0)).find("association table"), std::string::npos);
    EXPECT_NE(problems(strange).find("PID 0x140 is not in the map"), std::string::npos);
    EXPECT_NE(problems(without(good, 3)).find("1 continuity errors"), std::string::npos);
    EXPECT_NE(problems(stream({video_frame(0, false, 20)})).find("no keyframe"), std::string::npos);
    EXPECT_NE(problems(stream({video_frame(0, true, 20), video_frame(0, false, 20)})).find("DTS goes from"),
              std::string::npos);
    EXPECT_NE(problems(stream({video_frame(0, true, 20), video_frame(3000, false, 20)})).find("no clock for 3000 ms"),
              std::string::npos);
    EXPECT_NE(problems(stream({video_frame(0, true, 20), video_frame(40, false, 20), audio_frame(0, 20),
                               video_frame(900, true, 20), audio_frame(100, 20)}))
                  .find("later sent"),
              std::string::npos);
    testing::Conformance twice;
    twice.segment(good);
    twice.segment(good);
    EXPECT_NE(twice.text().find("segment 1: "), std::string::npos);
}

}  // namespace ts
