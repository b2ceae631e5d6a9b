// What senders in the field send, and what nobody should: the demuxer and the frames behind it.

#include <gtest/gtest.h>

#include <string>

#include "base/hex_testing.h"
#include "media/aac.h"
#include "media/av1.h"
#include "protocol/ts/cells_testing.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/program.h"

namespace ts {
namespace {

using base::hex;
using media::Codec;
using testing::association;
using testing::cell;
using testing::CellBytes;
using testing::cells;
using testing::joined;
using testing::MapEntry;
using testing::pes;
using testing::program_map;

// "H264 100k" with the presentation time in ms; "h" a sequence header; "P2" program 2 is followed.
struct Received final : DemuxerSink {
    explicit Received(size_t limit = Demuxer::kMaxPes) : demuxer(*this, limit) {}
    std::string text;
    std::vector<media::Frame> frames;
    FrameReader reader{[this](media::Frame frame) {
        text += std::string(media::codec_info(frame.codec).name) +
                (frame.sequence_header ? "h" : " " + std::to_string(media::to_ms(frame.pts()))) +
                (frame.keyframe ? "k " : " ");
        frames.push_back(std::move(frame));
    }};
    Demuxer demuxer;
    void on_pes(PesPacket packet) override { reader.take(packet); }
    void on_program(const ProgramMap& map) override {
        text += map.streams.empty() ? "P- " : "P" + std::to_string(map.number) + " ";
    }
    void feed(std::initializer_list<CellBytes> parts) { demuxer.feed(joined(parts)); }
    void finish() {
        demuxer.finish();
        reader.finish();
    }
};

const CellBytes kPat = association(0, {{1, 0x1000}});
constexpr uint16_t kVideo = 0x100, kAudio = 0x101;

CellBytes map_of(std::initializer_list<MapEntry> entries, uint8_t version = 0, uint8_t cc = 0) {
    return program_map(0x1000, cc, 1, entries, version);
}
CellBytes video_map(uint8_t version = 0, uint8_t cc = 0) { return map_of({{kH264, kVideo}}, version, cc); }

const CellBytes kSets = hex("00000001 6742c01ed900a047fec8 00000001 68cb83cb20");
CellBytes idr(size_t bytes = 20) {
    CellBytes unit = joined({kSets, hex("000001 6588")});
    unit.resize(unit.size() + bytes, 0x42);
    return unit;
}
CellBytes slice() { return hex("00000001 09f0 00000001 419a246c"); }

CellBytes adts(uint8_t fill, size_t raw = 20) {
    CellBytes frame(7);
    media::AacConfig config;
    config.core_sample_rate = 48'000;
    config.channels = config.channel_config = 2;
    EXPECT_TRUE(media::put_adts_header(config, raw, frame.data()));
    frame.resize(frame.size() + raw, fill);
    return frame;
}

}  // namespace

TEST(DemuxerPrograms, TheFirstWithAKnownStream) {
    const MapEntry scte{0x86, 0x200}, h264{kH264, kVideo};
    struct {
        const char* name;
        std::vector<CellBytes> input;
        const char* text;
    } cases[] = {
        {"only data in the first",
         {association(0, {{1, 0x30}, {2, 0x40}}), program_map(0x30, 0, 1, {scte}), program_map(0x40, 0, 2, {h264})},
         "P2 "},
        {"the second map comes first",
         {association(0, {{1, 0x30}, {2, 0x40}}), program_map(0x40, 0, 2, {h264}), program_map(0x30, 0, 1, {h264})},
         "P1 "},
        {"the first map does not come",
         {association(0, {{1, 0x30}, {2, 0x40}}), program_map(0x40, 0, 2, {h264}), program_map(0x40, 1, 2, {h264})},
         "P2 "},
        {"two maps on one PID",
         {association(0, {{1, 0x30}, {2, 0x30}}), program_map(0x30, 0, 1, {scte}), program_map(0x30, 1, 2, {h264})},
         "P2 "},
        {"the network's PID is no program",
         {association(0, {{0, 0x10}, {3, 0x40}}), program_map(0x40, 0, 3, {h264})},
         "P3 "},
        {"the program goes",
         {association(0, {{1, 0x30}}), program_map(0x30, 0, 1, {h264}), association(1, {{2, 0x40}}),
          program_map(0x40, 0, 2, {h264})},
         "P1 P- P2 "},
        {"a map of another program on the PID", {association(0, {{1, 0x30}}), program_map(0x30, 0, 9, {h264})}, ""},
        {"the same again",
         {association(0, {{1, 0x30}}), program_map(0x30, 0, 1, {h264}), association(1, {{1, 0x30}}),
          program_map(0x30, 1, 1, {h264})},
         "P1 "},
    };
    for (const auto& c : cases) {
        Received received;
        for (const CellBytes& part : c.input) received.demuxer.feed(part);
        received.finish();
        EXPECT_EQ(received.text, c.text) << c.name;
        EXPECT_EQ(received.demuxer.counters().bad_tables, 0u) << c.name;
    }
}

TEST(DemuxerPrograms, AStreamThatStaysGoesOnInANewMap) {
    Received received;
    const CellBytes frame = cells(kVideo, 0, pes(0xe0, 9'000, idr(650), false));
    received.feed({kPat, video_map(), CellBytes(frame.begin(), frame.begin() + 2 * kPacketSize),
                   map_of({{kH264, kVideo}, {0x86, 0x200}}, 1, 1),
                   CellBytes(frame.begin() + 2 * kPacketSize, frame.end()), map_of({{kAdtsAac, kAudio}}, 2, 2)});
    received.finish();
    EXPECT_EQ(received.text, "P1 P1 H264h H264 100k P1 ");
    EXPECT_EQ(received.reader.damaged(), 0u);
}

TEST(DemuxerPrograms, TablesWithWrongLengths) {
    // A map whose streams, or their descriptors, run past its end; an association without a program.
    for (const char* content : {"e100f0001be100f0ff", "e100ffff1be100f000", "e1", "e100f000 1be1"}) {
        Received received;
        received.feed({kPat, testing::table(0x1000, 0, 2, 1, 0, hex(content))});
        EXPECT_EQ(received.text, "") << content;
    }
    Received received;
    received.feed({testing::table(kPatPid, 0, 0, 1, 0, hex("0000e010"))});
    received.finish();
    EXPECT_EQ(received.demuxer.counters().bad_tables, 1u);
    // Section lengths that are too long, and pointers past the end.
    for (int length : {0x3ff, 0x400, 0xfff, 0, 5}) {
        CellBytes payload(kPayloadSize, 0xff);
        payload[0] = 0;
        base::put_u16(&payload[2], static_cast<uint32_t>(0xb000 | length));
        payload[1] = 0;
        Received other;
        for (uint8_t cc = 0; cc < 40; ++cc) other.feed({cell(kPatPid, cc & 15, cc == 0, payload)});
        other.feed({association(8, {{1, 0x1000}}), video_map()});
        EXPECT_EQ(other.text, "P1 ") << length;
    }
    for (uint8_t pointer : {uint8_t{183}, uint8_t{184}, uint8_t{255}}) {
        CellBytes payload(kPayloadSize, 0xff);
        payload[0] = pointer;
        Received other;
        other.feed({cell(kPatPid, 0, true, payload), association(1, {{1, 0x1000}}), video_map()});
        EXPECT_EQ(other.text, "P1 ") << int{pointer};
    }
}

TEST(DemuxerPes, HeadersThatAreWrong) {
    struct {
        const char* name;
        CellBytes pes;
    } cases[] = {
        {"no start code", hex("000002e00000800000 00000001 65")},
        {"a header past its packet", hex("000001e0000880803c 21000100 01 00000001 65")},
        {"too short for its PTS", hex("000001e0000a808004 21000100 00000001 65")},
        {"shorter than a header", hex("000001e0000180")},
        {"scrambled", hex("000001e00000b08005 2100010001 00000001 65")},
        {"MPEG-1's form", hex("000001e000000f2100010001 00000001 65")},
    };
    for (const auto& c : cases) {
        Received received;
        received.feed({kPat, video_map(), cells(kVideo, 0, c.pes), cells(kVideo, 1, pes(0xe0, 9'000, idr()))});
        received.finish();
        EXPECT_EQ(received.text, "P1 H264h H264 100k ") << c.name;
        const DemuxerCounters& counters = received.demuxer.counters();
        EXPECT_EQ(counters.bad_pes + counters.flagged, 1u) << c.name;
    }
}

TEST(DemuxerPes, TheLastOneWithALengthNeedsNoSuccessor) {
    Received received;
    received.feed({kPat, video_map(), cells(kVideo, 0, pes(0xe0, 9'000, idr(700)))});
    EXPECT_EQ(received.text, "P1 H264h H264 100k ");
    received.feed({cells(kVideo, 5, pes(0xe0, 12'600, slice(), false))});
    EXPECT_EQ(received.text, "P1 H264h H264 100k ");
    received.finish();
    EXPECT_EQ(received.text, "P1 H264h H264 100k H264 140 ");
}

TEST(DemuxerPes, MemoryIsBounded) {
    // Of one packet, and of all streams together.
    Received received(10'000);
    received.feed({kPat, map_of({{kH264, 0x100}, {kH264, 0x101}, {kH264, 0x102}, {kH264, 0x103}, {kAdtsAac, 0x110}})});
    const CellBytes whole = pes(0xe0, 9'000, CellBytes(9'000, 0x55), false);
    const CellBytes begun(whole.begin(), whole.begin() + 9'000);
    for (uint16_t pid = 0x100; pid < 0x104; ++pid) received.feed({cells(pid, 0, begun)});
    EXPECT_LE(received.demuxer.memory(), 4 * 10'000u);
    EXPECT_EQ(received.demuxer.counters().too_long, 2u);
    received.feed({cells(0x110, 0, pes(0xc0, 9'000, CellBytes(9'000, 0x55), false))});
    EXPECT_EQ(received.demuxer.counters().too_long, 3u) << "of audio less";
    std::vector<uint64_t> unfinished;
    received.demuxer.list_unfinished(unfinished);
    EXPECT_EQ(unfinished.size(), 2u);
    received.demuxer.drop_unfinished();
    EXPECT_EQ(received.demuxer.memory(), 0u);
}

TEST(DemuxerPes, ContradictingTimes) {
    Received received;
    received.feed({kPat, video_map(), cells(kVideo, 0, pes(0xe0, 900'000, idr(), true, 90'000'000))});
    ASSERT_EQ(received.frames.size(), 2u);
    EXPECT_EQ(received.frames[1].cts, media::Time(0));
    EXPECT_EQ(media::to_ms(received.frames[1].dts), 10'000);
}

TEST(DemuxerContinuity, LossesAndRepeats) {
    const CellBytes one = cells(kVideo, 0, pes(0xe0, 9'000, idr(650))),
                    two = cells(kVideo, 4, pes(0xe0, 12'600, slice()));
    const auto packet = [](const CellBytes& all, size_t n) {
        return CellBytes(all.begin() + static_cast<ptrdiff_t>(n * kPacketSize),
                         all.begin() + static_cast<ptrdiff_t>((n + 1) * kPacketSize));
    };
    ASSERT_EQ(one.size(), 4 * kPacketSize);
    struct {
        const char* name;
        std::vector<CellBytes> input;
        const char* text;
        uint64_t errors, duplicates;
    } cases[] = {
        {"all", {one, two}, "P1 H264h H264 100k H264 140 ", 0, 0},
        {"a packet twice",
         {packet(one, 0), packet(one, 1), packet(one, 1), packet(one, 2), packet(one, 3), two},
         "P1 H264h H264 100k H264 140 ",
         0,
         1},
        {"three times",
         {packet(one, 0), packet(one, 1), packet(one, 1), packet(one, 1), packet(one, 2), packet(one, 3), two},
         "P1 H264 140 ",
         1,
         1},
        {"one is lost", {packet(one, 0), packet(one, 2), packet(one, 3), two}, "P1 H264 140 ", 1, 0},
        {"the same number, and another packet",
         {packet(one, 0), cells(kVideo, 0, pes(0xe0, 12'600, slice()))},
         "P1 H264 140 ",
         1,
         0},
        {"a discontinuity that is announced",
         {one, cells(kVideo, 9, pes(0xe0, 12'600, slice()), kDiscontinuity)},
         "P1 H264h H264 100k H264 140 ",
         0,
         0},
        {"scrambled",
         {one,
          [&] {
              CellBytes bad = two;
              bad[3] |= 0x80;
              return bad;
          }()},
         "P1 H264h H264 100k ",
         0,
         0},
        {"marked as damaged",
         {one,
          [&] {
              CellBytes bad = two;
              bad[1] |= 0x80;
              return bad;
          }()},
         "P1 H264h H264 100k ",
         0,
         0},
    };
    for (const auto& c : cases) {
        Received received;
        received.feed({kPat, video_map()});
        for (const CellBytes& part : c.input) received.demuxer.feed(part);
        received.finish();
        EXPECT_EQ(received.text, c.text) << c.name;
        EXPECT_EQ(received.demuxer.counters().continuity_errors, c.errors) << c.name;
        EXPECT_EQ(received.demuxer.counters().duplicates, c.duplicates) << c.name;
    }
}

TEST(DemuxerContinuity, AGapCostsWhatIsOpenAndGoesOn) {
    const CellBytes key = cells(kVideo, 0, pes(0xe0, 9'000, idr(650), false));
    const CellBytes next = cells(kVideo, 4, pes(0xe0, 12'600, slice(), false));
    // Between two frames, and in the middle of one after which the number fits by chance.
    Received between, within;
    between.feed({kPat, video_map(), key});
    between.demuxer.on_gap();
    between.feed({next});
    between.finish();
    EXPECT_EQ(between.text, "P1 H264h H264 100k H264 140 ");
    within.feed({kPat, video_map(), CellBytes(key.begin(), key.begin() + 200)});
    within.demuxer.on_gap();
    within.feed({CellBytes(key.begin() + kPacketSize, key.end()), next});
    within.finish();
    EXPECT_EQ(within.text, "P1 H264 140 ");
    EXPECT_EQ(within.reader.damaged(), 1u);
}

TEST(DemuxerInput, EveryAdaptationLength) {
    for (int length = 0; length < 256; ++length)
        for (uint8_t control : {uint8_t{0x00}, uint8_t{0x10}, uint8_t{0x20}, uint8_t{0x30}}) {
            Received received;
            CellBytes bad = cell(kVideo, 0, true, pes(0xe0, 0, CellBytes(150, 0)));
            bad[3] = control;
            bad[4] = static_cast<uint8_t>(length);
            bad[5] = kHasPcr;
            received.feed({kPat, video_map(), bad, cells(kVideo, 1, pes(0xe0, 9'000, idr()))});
            received.finish();
            EXPECT_TRUE(received.text.ends_with("H264h H264 100k ")) << length << " " << received.text;
        }
}

// Senders that give each PES packet a length cut a large access unit.
TEST(FrameReaderVideo, AnAccessUnitOfSeveralLongPackets) {
    const CellBytes unit = idr(150'000);
    const size_t first = kMaxPesLength - 8, other = kMaxPesLength - 3;
    std::vector<CellBytes> parts{pes(0xe0, 9'000, std::span(unit).first(first)),
                                 pes(0xe0, {}, std::span(unit).subspan(first, other)),
                                 pes(0xe0, {}, std::span(unit).subspan(first + other))};
    Received received;
    received.feed({kPat, video_map()});
    uint8_t cc = 0;
    for (const CellBytes& part : parts) {
        const CellBytes sent = cells(kVideo, cc, part);
        cc = (cc + sent.size() / kPacketSize) & 15;
        received.demuxer.feed(sent);
    }
    EXPECT_EQ(received.text, "P1 H264h H264 100k ") << "the last one is short: it is the end";
    EXPECT_EQ(received.frames.back().payload.size(), 150'000 + 2 + 4u);
    received.demuxer.feed(cells(kVideo, cc, pes(0xe0, {}, slice())));
    EXPECT_EQ(received.reader.damaged(), 1u) << "nothing that it continues";
}

TEST(FrameReaderVideo, ParameterSetsChangeAndOthersStay) {
    Received received;
    received.feed(
        {kPat, video_map(),
         cells(kVideo, 0, pes(0xe0, 9'000, joined({kSets, hex("000001 68aa 000001 6588 000001 0cffff80")})))});
    ASSERT_EQ(received.text, "P1 H264h H264 100k ");
    EXPECT_EQ(received.frames[1].payload, base::Slice::copy(hex("00000002 68aa 00000002 6588")))
        << "the second PPS stays, filler goes";
    received.feed({cells(kVideo, 1, pes(0xe0, 12'600, idr()))});
    EXPECT_EQ(received.text, "P1 H264h H264 100k H264 140k ") << "the same sets: no header";
    received.feed({cells(
        kVideo, 2, pes(0xe0, 16'200, joined({hex("000001 674d001ed900a047fec8 000001 68cb83cb20 000001 6588")})))});
    EXPECT_EQ(received.text, "P1 H264h H264 100k H264 140k H264h H264 180k ");
}

TEST(FrameReaderAudio, FramesAreSpreadAndCutOverPackets) {
    Received received;
    received.feed({kPat, map_of({{kAdtsAac, kAudio}})});
    const CellBytes frames = joined({adts(1), adts(2), adts(3), adts(4), adts(5), adts(6)});  // 27 bytes each
    const auto part = [&](size_t from, size_t to) { return std::span(frames).subspan(from, to - from); };
    received.feed({cells(kAudio, 0, pes(0xc0, 90'000, part(0, 60)))});
    // The time is that of the fourth frame, the first that begins in it.
    received.feed({cells(kAudio, 1, pes(0xc0, 90'000 + 3 * 1'920, part(60, 100)))});
    received.feed({cells(kAudio, 2, pes(0xc0, {}, part(100, 162)))});
    EXPECT_EQ(received.text, "P1 AACh AAC 1000 AAC 1021 AAC 1043 AAC 1064 AAC 1085 AAC 1107 ");
    EXPECT_EQ(received.reader.unreadable(), 0u);
}

TEST(FrameReaderAudio, SyncIsFoundAgain) {
    Received received;
    received.feed({kPat, map_of({{kAdtsAac, kAudio}})});
    received.feed({cells(kAudio, 0, pes(0xc0, 90'000, joined({adts(1), adts(2)})))});
    // A packet is lost, and the next begins in the middle of a frame whose bytes look like a header.
    const CellBytes middle = hex("fff150800280fc 010203");
    received.feed({cells(kAudio, 2, pes(0xc0, 99'000, joined({middle, adts(7), adts(8)})))});
    EXPECT_EQ(received.text, "P1 AACh AAC 1000 AAC 1021 AAC 1100 AAC 1121 ");
    EXPECT_GT(received.reader.unreadable(), 0u);
}

TEST(FrameReaderAudio, LayerTwoAndDependentSubstreams) {
    CellBytes mp2(384, 0x11);  // 128 kbit/s at 48 kHz: 384 bytes
    std::ranges::copy(hex("fffd8404"), mp2.begin());
    Received layer2;
    layer2.feed({kPat, map_of({{kMpeg1Audio, kAudio}}), cells(kAudio, 0, pes(0xc0, 90'000, joined({mp2, mp2})))});
    EXPECT_EQ(layer2.text, "P1 MP3 1000 MP3 1024 ");
    // E-AC-3: an independent frame of 64 bytes and a dependent one of 32, twice.
    CellBytes independent(64, 0), dependent(32, 0);
    std::ranges::copy(hex("0b77001f3f80"), independent.begin());
    std::ranges::copy(hex("0b77400f3f80"), dependent.begin());
    Received eac3;
    eac3.feed({kPat, map_of({{kEac3, kAudio}}),
               cells(kAudio, 0, pes(0xbd, 90'000, joined({independent, dependent, independent, dependent})))});
    EXPECT_EQ(eac3.text, "P1 EAC3 1000 EAC3 1032 ");
    ASSERT_EQ(eac3.frames.size(), 2u);
    EXPECT_EQ(eac3.frames[0].payload.size(), 96u);
}

// Both forms, of the same unit: a temporal delimiter, a sequence header, a key frame.
TEST(FrameReaderAv1, StartCodesAndSizes) {
    const CellBytes registration = hex("0504 41563031");
    const CellBytes sizes = hex("1200 0a0b 0200000561e7f66017c002 3204 10000001");
    // 00 00 01 within an OBU has an emulation prevention byte.
    const CellBytes codes = hex("000001 10 000001 08 0200000561e7f66017c002 000001 30 1000000301");
    for (const CellBytes& unit : {sizes, codes}) {
        Received received;
        received.feed(
            {kPat, map_of({{kPrivateData, kVideo, registration}}), cells(kVideo, 0, pes(0xbd, 90'000, unit))});
        EXPECT_EQ(received.text, "P1 AV1h AV1 1000k ");
        ASSERT_EQ(received.frames.size(), 2u);
        EXPECT_EQ(received.frames[0].payload, base::Slice::copy(hex("81000c00 0a0b 0200000561e7f66017c002")));
        EXPECT_EQ(received.frames[1].payload, base::Slice::copy(hex("0a0b 0200000561e7f66017c002 3204 10000001")));
    }
    for (const char* bad : {"1200 0aff", "", "000001", "000001 0a05 02"}) {
        Received received;
        received.feed(
            {kPat, map_of({{kPrivateData, kVideo, registration}}), cells(kVideo, 0, pes(0xbd, 90'000, hex(bad)))});
        EXPECT_EQ(received.text, "P1 ") << bad;
    }
}

}  // namespace ts
