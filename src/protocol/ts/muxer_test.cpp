#include "protocol/ts/muxer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/ts/crc32.h"
#include "protocol/ts/segment_muxer.h"
#include "protocol/ts/ts_testing.h"

namespace ts {
namespace {

using base::hex;
using media::Codec;
using testing::audio_frame;
using testing::PacketCollector;
using testing::video_frame;
using Bytes = std::vector<uint8_t>;

std::vector<uint8_t> write(Muxer& muxer, const media::Frame& frame) {
    std::vector<uint8_t> out(muxer.prepare(frame));
    EXPECT_EQ(out.size() % kPacketSize, 0u);
    EXPECT_EQ(muxer.write(out.data()), out.data() + out.size());
    for (size_t at = 0; at < out.size(); at += kPacketSize) EXPECT_EQ(out[at], kSyncByte) << at;
    return out;
}

Muxer& with_headers(Muxer& muxer) {
    EXPECT_TRUE(muxer.set_header(testing::avc_header()));
    EXPECT_TRUE(muxer.set_header(testing::aac_header()));
    return muxer;
}

}  // namespace

TEST(Crc32, OfMpeg) {
    EXPECT_EQ(crc32(hex("31 32 33 34 35 36 37 38 39")), 0x0376e6e7u);  // the check value of CRC-32/MPEG-2
    // The table that every muxer writes for one program on PID 0x1000.
    EXPECT_EQ(crc32(hex("00 b0 0d 00 01 c1 00 00 00 01 f0 00 2a b1 04 b2")), 0u);
}

TEST(Program, Tables) {
    uint8_t out[2 * kPacketSize];
    const Program program = testing::program(Codec::kH264, Codec::kAac);
    ASSERT_EQ(tables_size(program), sizeof out);
    EXPECT_EQ(put_tables(out, program, 0, 5, 5), out + sizeof out);
    auto pat = hex("47 40 00 15 00 00 b0 0d 00 01 c1 00 00 00 01 f0 00 2a b1 04 b2");
    pat.resize(kPacketSize, 0xff);
    EXPECT_EQ(std::vector<uint8_t>(out, out + kPacketSize), pat);
    auto pmt = hex("47 50 00 15 00 02 b0 17 00 01 c1 00 00 e1 00 f0 00 1b e1 00 f0 00 0f e1 01 f0 00 2f 44 b9 9b");
    pmt.resize(kPacketSize, 0xff);
    EXPECT_EQ(std::vector<uint8_t>(out + kPacketSize, out + 2 * kPacketSize), pmt);
}

TEST(Muxer, AKeyframe) {
    Muxer muxer;
    auto out = write(with_headers(muxer), video_frame(0, true, 20, 40));
    ASSERT_EQ(out.size(), 3 * kPacketSize);
    // 19 bytes of PES header, 6 of delimiter, 2 * 4 + 15 of parameter sets, 24 of the unit: 72, after 112 of
    // adaptation.
    auto expected = hex("47 41 00 30 6f 50 00 00 00 00 7e 00");
    expected.resize(4 + 112, 0xff);
    auto pes =
        hex("00 00 01 e0 00 42 84 c0 0a 31 00 05 08 51 11 00 03 ec 31"
            "00 00 00 01 09 f0 00 00 00 01 67 42 c0 1e d9 00 a0 47 fe c8 00 00 00 01 68 cb 83 cb 20 00 00 00 01");
    expected.insert(expected.end(), pes.begin(), pes.end());
    auto payload = video_frame(0, true, 20).payload.sub(4);
    expected.insert(expected.end(), payload.begin(), payload.end());
    EXPECT_EQ(std::vector<uint8_t>(out.begin() + 2 * kPacketSize, out.end()), expected);
}

TEST(Muxer, EverySizeIsExact) {
    Muxer muxer;
    with_headers(muxer);
    int64_t dts = 0;
    for (size_t bytes = 1; bytes < 800; ++bytes) {
        for (bool video : {true, false}) {
            auto frame = video ? video_frame(dts, bytes % 10 == 0, bytes, bytes % 3 ? 0 : 40) : audio_frame(dts, bytes);
            EXPECT_EQ(muxer.prepare(frame), muxer.prepare(frame));
            auto out = write(muxer, frame);
            EXPECT_EQ(muxer.write_some(out), 0u);
        }
        dts += 20;
    }
}

TEST(Muxer, WhatCannotBeWrittenIsNoBytes) {
    Muxer muxer;
    EXPECT_EQ(muxer.prepare(video_frame(0, true, 20)), 0u);  // no configuration yet
    EXPECT_EQ(muxer.prepare(audio_frame(0, 20)), 0u);
    with_headers(muxer);
    EXPECT_EQ(muxer.prepare(testing::avc_header()), 0u);
    EXPECT_EQ(muxer.prepare(video_frame(0, true, 0)), 0u);
    EXPECT_EQ(muxer.prepare(audio_frame(0, 0)), 0u);
    EXPECT_EQ(muxer.prepare(audio_frame(0, media::kMaxAdtsFrame)), 0u);
    EXPECT_EQ(muxer.prepare(audio_frame(0, 20, Codec::kFlac)), 0u);
    EXPECT_EQ(muxer.prepare(testing::frame(Codec::kAmf0, base::Slice::copy("data"))), 0u);
    auto many = base::SliceBuilder();
    for (size_t i = 0; i <= VideoElementary::kMaxUnits; ++i) many.append(hex("00 00 00 01 41"));
    EXPECT_EQ(muxer.prepare(testing::frame(Codec::kH264, many.freeze())), 0u);
    EXPECT_FALSE(muxer.set_header(testing::header(Codec::kH264, base::Slice::copy("nonsense"))));
    EXPECT_EQ(muxer.prepare(video_frame(0, true, 20)), 0u);
    EXPECT_EQ(muxer.program(), testing::program(Codec::kNone, Codec::kAac));
    EXPECT_FALSE(muxer.set_header(testing::header(Codec::kAac, media::make_aac_config(42, 48000, 2))));
}

TEST(Muxer, WholeUnitsBeforeABrokenOneAreTaken) {
    Muxer muxer;
    with_headers(muxer);
    write(muxer, video_frame(0, true, 20));
    auto broken = hex("00 00 00 03 41 aa bb 00 00 00 ff 41");
    auto out = write(muxer, testing::frame(Codec::kH264, base::Slice::copy(broken), 40));
    ASSERT_EQ(out.size(), kPacketSize);
    auto end = hex("00 00 00 01 09 f0 00 00 00 01 41 aa bb");
    EXPECT_EQ(Bytes(out.end() - static_cast<ptrdiff_t>(end.size()), out.end()), end);
}

TEST(Muxer, ItsOwnDelimitersAndParameterSets) {
    Muxer muxer;
    with_headers(muxer);
    write(muxer, video_frame(0, true, 20));
    // Delimiter, other parameter sets, slice.
    auto payload = hex("00 00 00 02 09 10 00 00 00 02 67 99 00 00 00 02 68 98 00 00 00 02 65 88");
    auto frame = testing::frame(Codec::kH264, base::Slice::copy(payload), 40);
    frame.keyframe = true;
    auto out = write(muxer, frame);
    auto end = hex("09 f0 00 00 00 01 67 99 00 00 00 01 68 98 00 00 00 01 65 88");
    EXPECT_EQ(Bytes(out.end() - static_cast<ptrdiff_t>(end.size()), out.end()), end);
}

TEST(Muxer, OpusHasItsControlHeader) {
    Muxer muxer;
    media::Frame frame = audio_frame(0, 300, Codec::kOpus);
    auto out = write(muxer, frame);
    EXPECT_EQ(muxer.program(), testing::program(Codec::kNone, Codec::kOpus));
    auto start = hex("00 00 01 bd 01 38 84 80 05 21 00 03 ec 31 7f e0 ff 2d");  // 255 + 45
    auto at = std::search(out.begin(), out.end(), start.begin(), start.end());
    ASSERT_NE(at, out.end());
    EXPECT_EQ(*(at + static_cast<ptrdiff_t>(start.size()) + 1), frame.payload[1]);
}

TEST(Muxer, ANewProgramHasTheNextVersion) {
    Muxer muxer;
    ASSERT_TRUE(muxer.set_header(testing::aac_header()));
    write(muxer, audio_frame(0, 20));
    EXPECT_EQ(muxer.start_point().version, 0);
    for (int i = 1; i < 40; ++i) {
        std::vector<media::Track> tracks = {testing::track(Codec::kMp3)};
        if (i % 2) tracks.insert(tracks.begin(), testing::track(testing::avc_header()));
        muxer.set_tracks(tracks);
        auto out = write(muxer, audio_frame(i * 20, 20, Codec::kMp3));
        EXPECT_GE(out.size(), 3 * kPacketSize);
        EXPECT_EQ(muxer.start_point().version, i % 32);
        EXPECT_EQ(muxer.start_point().pat_cc, i % 16);
        EXPECT_EQ(muxer.start_point().pmt_cc, i % 16);
        EXPECT_TRUE(muxer.start_point().has_tables);
        EXPECT_EQ(write(muxer, audio_frame(i * 20 + 1, 20, Codec::kMp3)).size(), kPacketSize);
        EXPECT_FALSE(muxer.start_point().has_tables);
        uint8_t tables[kMaxTablesSize];
        uint8_t* end = Muxer::put_tables_at(tracks, muxer.start_point(), tables);
        EXPECT_EQ(end, tables + 2 * kPacketSize);
        EXPECT_TRUE(std::equal(tables, end, out.begin()));
    }
}

TEST(Muxer, TablesAsTheOptionsSay) {
    Muxer muxer({.tables_at_keyframes = true, .tables_every = media::from_ms(500)});
    with_headers(muxer);
    struct {
        int64_t dts;
        bool keyframe, tables;
    } table[] = {{0, true, true},    {40, false, false},   {80, true, true},    {500, false, false},
                 {580, false, true}, {1000, false, false}, {1090, false, true}, {10, false, true}};
    for (auto& row : table) {
        write(muxer, video_frame(row.dts, row.keyframe, 20));
        EXPECT_EQ(muxer.start_point().has_tables, row.tables) << row.dts;
    }
    muxer.want_tables();
    write(muxer, audio_frame(1100, 20));
    EXPECT_TRUE(muxer.start_point().has_tables);
}

TEST(SegmentMuxer, WritesAudioBeforeItIsTooOld) {
    for (auto [video, waits] : {std::pair{true, 200}, {false, 90}}) {
        SegmentMuxer muxer;
        PacketCollector sink;
        if (video) {
            ASSERT_TRUE(muxer.write(testing::avc_header(), sink));
        }
        ASSERT_TRUE(muxer.write(testing::aac_header(), sink));
        ASSERT_TRUE(muxer.write(audio_frame(0, 20), sink));
        ASSERT_TRUE(muxer.write(audio_frame(waits - 1, 20), sink));
        EXPECT_TRUE(sink.bytes.empty());
        ASSERT_TRUE(muxer.write(audio_frame(waits, 20), sink));
        EXPECT_EQ(sink.bytes.size(), 3 * kPacketSize);
        if (!video) continue;
        ASSERT_TRUE(muxer.write(video_frame(2 * waits - 1, true, 20), sink));
        EXPECT_EQ(sink.bytes.size(), 4 * kPacketSize);
        ASSERT_TRUE(muxer.write(video_frame(2 * waits, false, 20), sink));
        EXPECT_EQ(sink.bytes.size(), 6 * kPacketSize);
    }
}

TEST(SegmentMuxer, MuchAudioDoesNotWait) {
    SegmentMuxer muxer;
    PacketCollector sink;
    ASSERT_TRUE(muxer.write(testing::avc_header(), sink));
    ASSERT_TRUE(muxer.write(testing::aac_header(), sink));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(muxer.write(audio_frame(i, 8000), sink));
    EXPECT_GT(sink.bytes.size(), 780'000u);
    EXPECT_LT(sizeof(SegmentMuxer), 1000u);
}

TEST(SegmentMuxer, TracksThatAreToComeAreInTheFirstTables) {
    SegmentMuxer muxer;
    PacketCollector sink;
    const media::Track tracks[] = {testing::track(testing::avc_header()), testing::track(Codec::kMp3)};
    muxer.set_tracks(tracks);
    ASSERT_TRUE(muxer.write(video_frame(0, true, 20), sink));
    ASSERT_TRUE(muxer.write(audio_frame(0, 20, Codec::kMp3), sink));
    muxer.flush(sink);
    EXPECT_EQ(muxer.program().video[0].codec, Codec::kH264);
    EXPECT_EQ(muxer.program().audio[0].codec, Codec::kMp3);
    EXPECT_EQ(sink.bytes[kPacketSize + 10] >> 1 & 31, 0);
    EXPECT_EQ(sink.bytes.size(), 6 * kPacketSize);  // audio at a lower rate than assumed: tables again
}

TEST(SegmentMuxer, JoinsAudio) {
    SegmentMuxer muxer;
    PacketCollector sink;
    muxer.begin_segment();
    ASSERT_TRUE(muxer.write(testing::avc_header(), sink));
    ASSERT_TRUE(muxer.write(testing::aac_header(), sink));
    EXPECT_TRUE(sink.bytes.empty());
    ASSERT_TRUE(muxer.write(video_frame(0, true, 20), sink));
    EXPECT_EQ(sink.bytes.size(), 3 * kPacketSize);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(muxer.write(audio_frame(i * 23, 50), sink));
    EXPECT_EQ(sink.bytes.size(), 3 * kPacketSize);
    muxer.flush(sink);
    EXPECT_EQ(sink.bytes.size(), 5 * kPacketSize);  // 5 * 57 + 14 bytes, no PCR
    muxer.flush(sink);
    EXPECT_EQ(sink.bytes.size(), 5 * kPacketSize);
}

}  // namespace ts
