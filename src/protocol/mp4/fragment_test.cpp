#include "protocol/mp4/fragment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/mp4/box_reader.h"
#include "protocol/mp4/frames_testing.h"
#include "protocol/mp4/testing/demuxer.h"

namespace mp4 {

using base::hex;
using media::Codec;
using media::Frame;
using media::Kind;

namespace {

std::vector<uint8_t> joined(const FragmentBytes& fragment) {
    std::vector<uint8_t> out;
    for (auto piece : fragment.pieces) out.insert(out.end(), piece.begin(), piece.end());
    EXPECT_EQ(out.size(), fragment.size);
    return out;
}

FragmentBuilder with_tracks(int64_t origin_ms = 0) {
    FragmentBuilder builder(media::from_ms(origin_ms));
    EXPECT_TRUE(*builder.set_header(h264_header()));
    EXPECT_TRUE(*builder.set_header(aac_header()));
    return builder;
}

}  // namespace

TEST(Mp4Fragment, ByteByByte) {
    FragmentBuilder builder = with_tracks();
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 3, 0x11, 40, 80, true)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 2, 0xaa, 46)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 1, 0x22, 80, -40)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 1, 0xbb, 70)));
    EXPECT_EQ(builder.samples(), 4u);
    EXPECT_EQ(builder.bytes(), 7u);
    EXPECT_EQ(media::to_ms(builder.span()), 40);
    auto expected =
        hex("000000bc 6d6f6f66 00000010 6d666864 00000000 00000001"
            "00000058 74726166"
            "00000014 74666864 00020008 00000001 00000e10"           // track 1, each sample lasts 40 ms
            "00000014 74666474 01000000 00000000 00000e10"           // from 40 ms
            "00000028 7472756e 01000a05 00000002 000000c4 02000000"  // first is a sync sample; sizes and offsets follow
            "00000003 00001c20 00000001 fffff1f0"
            "0000004c 74726166"
            "00000014 74666864 00020008 00000002 00000400"  // likewise, though trex says it too
            "00000014 74666474 01000000 00000000 000007ed"  // 46 ms of 44,100 Hz
            "0000001c 7472756e 01000201 00000002 000000c8 00000002 00000001"
            "0000000f 6d646174 111111 22 aaaa bb"
            "00000008 66726565");
    EXPECT_EQ(joined(builder.cut({.next_video_dts = media::from_ms(120), .seal = true})), expected);
    EXPECT_TRUE(builder.empty());
    EXPECT_EQ(media::to_ms(builder.span()), 0);
    EXPECT_EQ(builder.cut().size, 0u);
}

namespace {

struct Row {
    int64_t begin;
    std::vector<uint32_t> durations;
    std::vector<int32_t> cts;
    friend bool operator==(const Row&, const Row&) = default;
};

// A row of a video track, in ms.
Row video_row(int64_t begin, std::vector<uint32_t> durations, std::vector<int32_t> cts) {
    constexpr int32_t kTicks = kVideoTimescale / 1000;
    for (uint32_t& duration : durations) duration *= kTicks;
    for (int32_t& one : cts) one *= kTicks;
    return {begin * kTicks, std::move(durations), std::move(cts)};
}

// The builder's next fragment: the runs of its tracks, parsed by the reader.
std::vector<Row> cut(FragmentBuilder& builder, std::optional<int64_t> next_video_ms = {}) {
    const auto next_video_dts = next_video_ms ? std::optional(media::from_ms(*next_video_ms)) : std::nullopt;
    auto init = builder.init_segment();
    auto movie = demux(init);
    EXPECT_TRUE(movie) << movie.error().text();
    auto bytes = joined(builder.cut({.next_video_dts = next_video_dts}));
    auto moof = BoxReader(bytes).next();
    std::vector<int64_t> next;
    MovieFragment fragment;
    auto parsed = parse_moof(moof->payload, 0, movie->movie, next, fragment);
    EXPECT_TRUE(parsed) << parsed.error().text();
    std::vector<Row> runs;
    for (const auto& run : fragment.runs) {
        runs.push_back({fragment.samples[run.first].dts, {}, {}});
        for (size_t i = run.first; i < run.first + run.count; ++i) {
            runs.back().durations.push_back(fragment.samples[i].duration);
            runs.back().cts.push_back(fragment.samples[i].cts);
        }
    }
    return runs;
}

void add_audio(FragmentBuilder& builder, std::initializer_list<int64_t> times) {
    for (int64_t dts : times) EXPECT_TRUE(builder.add(frame_of(Codec::kAac, 5, 1, dts)));
}

void add_video(FragmentBuilder& builder, std::initializer_list<int64_t> times) {
    for (int64_t dts : times) EXPECT_TRUE(builder.add(frame_of(Codec::kH264, 5, 1, dts)));
}

FragmentBuilder with_audio(const char* config = "1210") {
    FragmentBuilder builder;
    EXPECT_TRUE(*builder.set_header(aac_header(config)));
    return builder;
}

}  // namespace

TEST(Mp4Fragment, AudioIsPlacedBySamplesNotByRoundedTimes) {
    FragmentBuilder builder = with_audio();
    add_audio(builder, {0, 23, 46, 70});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{0, {1024, 1024, 1024, 1024}, {0, 0, 0, 0}}}));
    add_audio(builder, {93, 116});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{4096, {1024, 1024}, {0, 0}}}));
    // Four hours, with timestamps rounded down to ms: no accumulation and no jumps.
    int64_t frame = 6;
    for (; frame < 620'000; ++frame) {
        add_audio(builder, {frame * 1024 * 1000 / 44100});
        if (frame % 1000 != 0) continue;
        for (const Row& run : cut(builder)) {
            ASSERT_EQ(run.begin + static_cast<int64_t>(run.durations.size()) * 1024, (frame + 1) * 1024);
            for (uint32_t duration : run.durations) ASSERT_EQ(duration, 1024u);
        }
    }
}

// Decoding times (tfdt) are 64 bits wide: 2^32 units are 27 hours of audio at 44.1 kHz.
TEST(Mp4Fragment, DecodingTimesGoOnOver32Bits) {
    for (int64_t wrap : {int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 33}) {
        FragmentBuilder builder = with_audio();
        const int64_t first = wrap / 1024 - 2;
        for (int64_t frame = first; frame < first + 4; ++frame) add_audio(builder, {frame * 1024 * 1000 / 44100});
        const auto rows = cut(builder);
        ASSERT_EQ(rows.size(), 1u);
        EXPECT_NEAR(static_cast<double>(rows[0].begin), static_cast<double>(first * 1024), 45) << wrap;
        EXPECT_EQ(rows[0].durations.size(), 4u);
        for (int64_t frame = first + 4; frame < first + 8; ++frame) add_audio(builder, {frame * 1024 * 1000 / 44100});
        const auto next = cut(builder);
        ASSERT_EQ(next.size(), 1u);
        EXPECT_EQ(next[0].begin, rows[0].begin + 4 * 1024) << wrap;
    }
}

TEST(Mp4Fragment, AGapInAudioStaysOne) {
    FragmentBuilder builder = with_audio();
    add_audio(builder, {0, 23});
    // One frame is missing: 70 ms are 3087 units.
    add_audio(builder, {70, 93});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{0, {1024, 2063, 1024, 1024}, {0, 0, 0, 0}}}));
    // Across fragments the time of the next one is used.
    add_audio(builder, {1000});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{44100, {1024}, {0}}}));
    // A step back by more than half a frame, but not before the start of the last frame.
    add_audio(builder, {1005, 990});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{44321, {0, 1024}, {0, 0}}}));
}

TEST(Mp4Fragment, JitterOfAudioIsSmoothed) {
    FragmentBuilder builder = with_audio();
    add_audio(builder, {0, 30, 40, 75, 85});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{0, {1024, 1024, 1024, 1024, 1024}, {0, 0, 0, 0, 0}}}));
}

TEST(Mp4Fragment, HeAacLastsTwiceAsLong) {
    FragmentBuilder builder = with_audio("2b920800");
    add_audio(builder, {0, 46});
    EXPECT_EQ(cut(builder), (std::vector<Row>{{0, {2048, 2048}, {0, 0}}}));
}

TEST(Mp4Fragment, OpusFramesOfManySizes) {
    FragmentBuilder builder;
    ASSERT_TRUE(*builder.set_header(frame_of(Codec::kOpus, hex("fc00"))));
    ASSERT_TRUE(builder.add(frame_of(Codec::kOpus, hex("fc00"), 0)));   // 20 ms
    ASSERT_TRUE(builder.add(frame_of(Codec::kOpus, hex("e400"), 20)));  // 2.5 ms
    ASSERT_TRUE(builder.add(frame_of(Codec::kOpus, hex("fc00"), 22)));
    EXPECT_EQ(cut(builder), (std::vector<Row>{{0, {960, 120, 960}, {0, 0, 0}}}));
}

TEST(Mp4Fragment, VideoKeepsItsTimes) {
    FragmentBuilder builder;
    ASSERT_TRUE(*builder.set_header(h264_header()));
    add_video(builder, {0, 33, 67, 100});
    EXPECT_EQ(cut(builder, 133), std::vector<Row>({video_row(0, {33, 34, 33, 33}, {0, 0, 0, 0})}));
    // The last frame is as long as the previous one if nothing is given; a single frame 40 ms, or as in the last
    // fragment.
    add_video(builder, {133, 200});
    EXPECT_EQ(cut(builder), std::vector<Row>({video_row(133, {67, 67}, {0, 0})}));
    add_video(builder, {267});
    EXPECT_EQ(cut(builder), std::vector<Row>({video_row(267, {67}, {0})}));
    FragmentBuilder other;
    ASSERT_TRUE(*other.set_header(h264_header()));
    add_video(other, {0});
    EXPECT_EQ(cut(other), std::vector<Row>({video_row(0, {40}, {0})}));
    // A time that goes back becomes the previous time.
    add_video(other, {80, 50, 90});
    EXPECT_EQ(cut(other, 120), std::vector<Row>({video_row(80, {0, 10, 30}, {0, 0, 0})}));
    // Times beyond 32 bits.
    add_video(other, {10'000'000'000});
    EXPECT_EQ(cut(other), std::vector<Row>({video_row(10'000'000'000, {30}, {0})}));
}

TEST(Mp4Fragment, SeveralTracksOfAKind) {
    FragmentBuilder builder;
    EXPECT_FALSE(builder.has(Kind::kVideo));
    ASSERT_TRUE(*builder.set_header(h264_header()));
    ASSERT_TRUE(*builder.set_header(on_track(1, hevc_header())));
    ASSERT_TRUE(*builder.set_header(on_track(3, aac_header())));
    ASSERT_TRUE(*builder.set_header(on_track(0, aac_header("1190"))));
    EXPECT_FALSE(*builder.set_header(on_track(3, aac_header())));  // known
    EXPECT_TRUE(builder.has(Kind::kAudio) && builder.has(Kind::kAudio, 0) && builder.has(Kind::kAudio, 3));
    EXPECT_FALSE(builder.has(Kind::kAudio, 1) || builder.has(Kind::kVideo, 3));
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 3, 1, 1000, 0, true)));
    ASSERT_TRUE(builder.add(on_track(1, frame_of(Codec::kHevc, 4, 2, 1000, 0, true))));
    ASSERT_TRUE(builder.add(on_track(3, frame_of(Codec::kAac, 5, 3, 1000))));
    ASSERT_TRUE(builder.add(on_track(3, frame_of(Codec::kAac, 5, 3, 1023))));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 6, 4, 1000)));
    EXPECT_FALSE(builder.add(on_track(1, frame_of(Codec::kAac, 6, 4, 1000))));
    EXPECT_FALSE(builder.add(on_track(1, frame_of(Codec::kH264, 6, 4, 1000))));  // another codec
    EXPECT_EQ(builder.samples(), 5u);
    EXPECT_EQ(builder.bytes(), 23u);
    auto file = builder.init_segment();
    auto bytes = joined(builder.cut({.next_video_dts = media::from_ms(1100), .next_video_track = 1}));
    file.insert(file.end(), bytes.begin(), bytes.end());
    auto read = demux(file);
    ASSERT_TRUE(read);
    // By the trak boxes: of each kind by index, with ids in the order of appearance.
    struct Want {
        uint32_t id;
        Kind kind;
        uint8_t index;
        size_t samples;
        uint32_t timescale;
        uint32_t duration;
    };
    const Want want[] = {{1, Kind::kVideo, 0, 1, 90'000, 3'600},  // not known: 40 ms
                         {2, Kind::kVideo, 1, 1, 90'000, 9'000},
                         {4, Kind::kAudio, 0, 1, 48'000, 1'024},
                         {3, Kind::kAudio, 1, 2, 44'100, 1'024}};
    ASSERT_EQ(read->movie.tracks.size(), std::size(want));
    for (size_t i = 0; i < std::size(want); ++i) {
        const Track& track = read->movie.tracks[i].track;
        EXPECT_EQ(track.id, want[i].id);
        EXPECT_EQ(track.kind, want[i].kind);
        EXPECT_EQ(track.index, want[i].index);
        EXPECT_EQ(track.timescale, want[i].timescale);
        ASSERT_EQ(read->samples[i].size(), want[i].samples) << i;
        EXPECT_EQ(read->samples[i][0].duration, want[i].duration) << i;
        EXPECT_EQ(read->samples[i][0].dts, want[i].timescale) << i;
        EXPECT_EQ(file[read->samples[i][0].offset], want[i].id) << i;
    }
}

TEST(Mp4Fragment, LanguagesAndLabels) {
    struct Case {
        const char *language, *label;
        const char* code;  // in mdhd
        const char* got;   // by the reader
    };
    const Case cases[] = {
        {"", "", "und", ""},
        {"deu", "Kommentar", "deu", "deu"},
        {"deu-AT", "", "deu", "deu-AT"},
        {"en", "Director", "eng", "en"},
        {"ENG", "", "eng", "ENG"},
        {"deu", "audio", "deu", "deu"},  // found by libFuzzer
        {"not a language", "\n", "und", ""},
    };
    const auto plain = with_audio().init_segment();
    for (const Case& c : cases) {
        FragmentBuilder builder = with_audio();
        bool something = *c.got || *c.label > ' ';
        EXPECT_EQ(builder.set_names(Kind::kAudio, 0, c.language, c.label), something);
        EXPECT_FALSE(builder.set_names(Kind::kAudio, 0, c.language, c.label));
        auto init = builder.init_segment();
        EXPECT_EQ(init == plain, !something) << c.language;
        auto read = demux(init);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->movie.tracks[0].track.language, c.got);
        EXPECT_EQ(read->movie.tracks[0].track.label, something && c.label != std::string_view("audio") ? c.label : "");
        // mdhd ends with the code, in three times 5 bits, and two more bytes.
        const uint8_t mdhd[] = {'m', 'd', 'h', 'd'};
        auto at = std::ranges::search(init, mdhd).begin() + 36;
        std::string code;
        for (int shift = 10; shift >= 0; shift -= 5)
            code += static_cast<char>(0x60 + ((at[0] << 8 | at[1]) >> shift & 0x1f));
        EXPECT_EQ(code, c.code);
    }
    // What ffprobe and Chromium show.
    FragmentBuilder builder = with_audio();
    EXPECT_TRUE(builder.set_names(Kind::kAudio, 0, "pt-BR", "Reporter"));
    auto init = builder.init_segment();
    for (const char* box : {"00000012 656c6e67 00000000 70742d4252 00",                              // elng
                            "00000029 68646c72 00000000 00000000 736f756e 000000000000000000000000"  // hdlr
                            "5265706f72746572 00"})
        EXPECT_FALSE(std::ranges::search(init, hex(box)).empty()) << box;
}

TEST(Mp4Fragment, TracksAreBounded) {
    FragmentBuilder builder;
    for (uint8_t index = 0; index < media::kMaxTracks; ++index) {
        ASSERT_TRUE(*builder.set_header(on_track(index, h264_header())));
        ASSERT_TRUE(*builder.set_header(on_track(index, aac_header())));
        ASSERT_TRUE(builder.add(on_track(index, frame_of(Codec::kH264, 5, 1, 0, 0, true))));
        ASSERT_TRUE(builder.add(on_track(index, frame_of(Codec::kAac, 5, 1, 0))));
    }
    for (const Frame& header : {h264_header(), aac_header()}) {
        auto refused = builder.set_header(on_track(media::kMaxTracks, header));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), base::Code::kRefused);
    }
    EXPECT_EQ(builder.tracks().size(), kMaxTracks);
    EXPECT_EQ(cut(builder).size(), kMaxTracks);
}

TEST(Mp4Fragment, OriginAndOffsets) {
    FragmentBuilder builder = with_tracks(1000);
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 5, 1, 1000, 66, true)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 5, 1, 990)));  // before the origin
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 5, 1, 1033, -33)));
    EXPECT_EQ(cut(builder), (std::vector<Row>{video_row(0, {33, 33}, {66, -33}), {0, {1024}, {0}}}));
}

TEST(Mp4Fragment, EachSampleSaysWhatItIs) {
    FragmentBuilder builder;
    ASSERT_TRUE(*builder.set_header(h264_header()));
    // Keyframes in the middle and disposable frames: no default matches all.
    for (int i = 0; i < 6; ++i) {
        Frame frame = frame_of(Codec::kH264, 5, 1, i * 40, 0, i % 3 == 0);
        frame.disposable = i % 3 == 2;
        ASSERT_TRUE(builder.add(frame));
    }
    auto bytes = joined(builder.cut());
    auto all = builder.init_segment();
    all.insert(all.end(), bytes.begin(), bytes.end());
    auto read = demux(all);
    ASSERT_TRUE(read);
    std::vector<bool> sync;
    for (const Sample& sample : read->samples[0]) sync.push_back(sample.sync);
    EXPECT_EQ(sync, (std::vector<bool>{true, false, false, true, false, false}));
}

TEST(Mp4Fragment, WhatCannotBeAdded) {
    FragmentBuilder builder = with_audio();
    EXPECT_FALSE(builder.add(frame_of(Codec::kH264, 5, 1, 0)));
    EXPECT_FALSE(builder.add(frame_of(Codec::kMp3, 5, 1, 0)));
    EXPECT_FALSE(builder.add(aac_header()));
    EXPECT_TRUE(builder.add(frame_of(Codec::kAac, 0, 1, 0)));  // an empty frame
    EXPECT_TRUE(builder.empty());
    EXPECT_EQ(builder.cut().size, 0u);
    EXPECT_EQ(builder.sequence(), 1u);
    Frame large = frame_of(Codec::kAac, 1 << 20, 1, 0);
    for (int i = 0; i < 1024; ++i) ASSERT_TRUE(builder.add(large));
    auto full = builder.add(large);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), base::Code::kLimit);
}

TEST(Mp4Fragment, Av1LosesItsTemporalDelimiter) {
    FragmentBuilder builder;
    ASSERT_TRUE(*builder.set_header(av1_header()));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAv1, hex("1200 32 02 aabb"), 0, 0, true)));
    EXPECT_EQ(builder.bytes(), 4u);
}

}  // namespace mp4
