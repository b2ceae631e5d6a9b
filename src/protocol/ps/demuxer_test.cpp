#include "protocol/ps/demuxer.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/ps/ps_testing.h"
#include "protocol/ps/stream_map.h"
#include "protocol/ts/program.h"

namespace ps {
namespace {

using testing::joined;
using testing::pack;
using testing::packet;
using testing::part;
using testing::PsBytes;
using testing::stream_map;
using testing::system_header;

constexpr uint8_t kVideo = 0xe0, kAudio = 0xc0;

// What came, as text: "map: H264@e0 PCMA@c0", "e0 900 +3" (with bytes), "- " for no time, "!" for damaged, "?" after a
// loss.
struct PesText final : ts::DemuxerSink {
    std::string text;
    Demuxer demuxer{*this};
    void on_program(const ts::ProgramMap& map) override {
        text += "map:";
        for (const auto& stream : map.streams)
            text += fmt::format(" {}{}@{:x}", media::codec_info(stream.codec).name, stream.track, stream.pid);
        text += "; ";
    }
    void on_pes(ts::PesPacket one) override {
        const std::string time = one.dts ? fmt::format("{}", *one.dts) : "-";
        const std::string cts = one.dts && *one.pts != *one.dts ? fmt::format("/{}", *one.pts) : "";
        text += fmt::format("{}{}{:x} {}{} +{}; ", one.damaged ? "!" : "", one.after_loss ? "?" : "", one.stream.pid,
                            time, cts, one.payload.size());
    }
    void feed(const PsBytes& bytes, size_t step = SIZE_MAX) {
        for (size_t at = 0; at < bytes.size();) {
            const size_t size = std::min(step, bytes.size() - at);
            demuxer.feed(std::span(bytes).subspan(at, size));
            at += size;
        }
    }
};

const PsBytes kPayload(10, 0x11);

PsBytes map_of_both() { return stream_map({{ts::kH264, kVideo}, {kPcmAlaw, kAudio}}); }
constexpr const char* kMapText = "map: H2640@e0 PCMA0@c0; ";

struct StreamCase {
    std::string what;
    PsBytes bytes;
    std::string expected;
    std::string counted = "";  // skipped bytes, bad tables, bad packets, scrambled
};

std::string counted(const ts::DemuxerCounters& counters) {
    std::string text;
    const auto add = [&](const char* name, uint64_t count) {
        if (count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    };
    add("skipped", counters.skipped_bytes);
    add("tables", counters.bad_tables);
    add("packets", counters.bad_pes);
    add("scrambled", counters.flagged);
    add("streams", counters.skipped_streams);
    return text;
}

const PsBytes kBegin = joined({pack(), system_header(), map_of_both()});

std::vector<StreamCase> streams() {
    const PsBytes video = packet(kVideo, 900, kPayload), more = packet(kVideo, {}, kPayload);
    const PsBytes audio = packet(kAudio, 905, kPayload), junk(100, 0x47);
    PsBytes scrambled = video;
    scrambled[6] |= 0x20;
    PsBytes long_header = video;
    long_header[8] = 200;
    PsBytes mpeg1_pack = pack();
    mpeg1_pack[4] = 0x21;
    PsBytes later = map_of_both();
    later[6] &= 0x7f;
    PsBytes long_map = map_of_both();
    base::put_u16(&long_map[4], 2000);
    PsBytes wrong_length = video;
    wrong_length[5] -= 4;
    PsBytes no_length = video;
    no_length[4] = no_length[5] = 0;
    return {
        {"both streams", joined({kBegin, video, audio}), "e0 900 +10; c0 905 +10; "},
        {"stuffing in packs", joined({kBegin, pack(7), video, pack(1), audio}), "e0 900 +10; c0 905 +10; "},
        {"zeros before start codes", joined({kBegin, {0, 0, 0}, video, {0}, audio}), "e0 900 +10; c0 905 +10; ",
         "4 skipped"},
        {"an end, and a pack behind it", joined({kBegin, video, {0, 0, 1, kEnd}, pack(), audio}),
         "e0 900 +10; c0 905 +10; "},
        {"continued by packets without a time", joined({kBegin, video, more, more}),
         "e0 900 +10; e0 - +10; e0 - +10; "},
        {"continued by packets with the same time", joined({kBegin, video, video, pack(), video}),
         "e0 900 +10; e0 - +10; e0 - +10; "},
        {"B-frames", joined({kBegin, packet(kVideo, 2700, kPayload, 900), packet(kVideo, 1800, kPayload)}),
         "e0 900/2700 +10; e0 1800 +10; "},
        {"a decoding time that is none", joined({kBegin, packet(kVideo, 9'000'000, kPayload, 900)}),
         "e0 9000000 +10; "},
        {"private and unknown streams",
         joined({kBegin, part(0xbd, junk), part(0xe5, junk), part(0xbe, junk), part(0xff, {}), video}), "e0 900 +10; "},
        {"an empty payload", joined({kBegin, packet(kVideo, 900, {}), audio}), "e0 900 +0; c0 905 +10; "},
        {"junk before", joined({junk, kBegin, video}), "e0 900 +10; ", "100 skipped"},
        {"junk between: until the next pack", joined({kBegin, video, junk, video, pack(), audio}),
         "e0 900 +10; !e0 - +0; ?c0 905 +10; ", "124 skipped"},
        {"a start code of video at a boundary", joined({kBegin, video, {0, 0, 1, 0x65}, pack(), audio}),
         "e0 900 +10; !e0 - +0; ?c0 905 +10; ", "4 skipped"},
        {"a pack of MPEG-1", joined({kBegin, mpeg1_pack, video, pack(), audio}), "?c0 905 +10; ", "38 skipped"},
        {"a scrambled packet", joined({kBegin, scrambled, video}), "?e0 900 +10; ", "1 scrambled"},
        {"a header beyond its packet", joined({kBegin, long_header, video}), "?e0 900 +10; ", "1 packets"},
        {"a length that is too small", joined({kBegin, wrong_length, pack(), audio}),
         "e0 900 +6; !e0 - +0; ?c0 905 +10; ", "4 skipped"},
        {"no length", joined({kBegin, no_length, pack(), video}), "?e0 900 +10; ", "24 skipped, 1 packets"},
        {"a map that is not in use yet", joined({kBegin, later, video}), "e0 900 +10; ", "1 tables"},
        {"a map that is too long", joined({kBegin, long_map, PsBytes(2000, 0), pack(), video}), "?e0 900 +10; ",
         "2024 skipped, 1 tables"},
        {"the map again", joined({kBegin, video, pack(), map_of_both(), more}), "e0 900 +10; e0 - +10; "},
        {"another map", joined({kBegin, audio, stream_map({{ts::kHevc, kVideo}, {kPcmAlaw, kAudio}}, 1), video, audio}),
         "c0 905 +10; map: HEVC0@e0 PCMA0@c0; e0 900 +10; c0 905 +10; "},
        {"a map without known streams", joined({kBegin, stream_map({{0x80, kVideo}}), video}), "e0 900 +10; "},
    };
}

TEST(PsDemuxer, ReadsStreams) {
    for (const StreamCase& one : streams())
        for (size_t step : {SIZE_MAX, size_t{1}, size_t{7}, size_t{29}}) {
            PesText read;
            read.feed(one.bytes, step);
            EXPECT_EQ(read.text, kMapText + one.expected) << one.what << ", " << step;
            EXPECT_EQ(counted(read.demuxer.counters()), one.counted) << one.what << ", " << step;
        }
}

struct MapCase {
    std::string what;
    PsBytes bytes;
    std::string expected;
};

TEST(PsDemuxer, ReadsMaps) {
    PsBytes info = part(
        kStreamMap, PsBytes{0xe0, 0xff, 0, 3, 5, 1, 9, 0, 10, 0x1b, 0xe0, 0, 2, 7, 8, 0x90, 0xc0, 0, 0, 1, 2, 3, 4});
    PsBytes short_entries = part(kStreamMap, PsBytes{0xe0, 0xff, 0, 0, 0, 8, 0x1b, 0xe0, 0, 0, 1, 2, 3, 4});
    PsBytes long_info = part(kStreamMap, PsBytes{0xe0, 0xff, 0, 0, 0, 4, 0x1b, 0xe0, 0, 9, 1, 2, 3, 4});
    const std::vector<MapCase> cases = {
        {"every codec", stream_map({{0x1b, 0xe0}, {0x24, 0xe1}, {0x0f, 0xc0}, {0x91, 0xc1}}),
         "map: H2640@e0 HEVC1@e1 AAC0@c0 PCMU1@c1; "},
        {"MPEG audio", stream_map({{0x03, 0xc0}, {0x90, 0xc1}}), "map: MP30@c0 PCMA1@c1; "},
        {"unknown types", stream_map({{0x80, 0xe0}, {0x92, 0xc0}, {0x1b, 0xe1}}), "map: H2640@e1; "},
        {"two of a kind at most", stream_map({{0x1b, 0xe0}, {0x1b, 0xe1}, {0x1b, 0xe2}}), "map: H2640@e0 H2641@e1; "},
        {"an id twice", stream_map({{0x1b, 0xe0}, {0x24, 0xe0}}), "map: H2640@e0; "},
        {"ids of another kind", stream_map({{0x1b, 0xc0}, {0x0f, 0xe0}, {0x0f, 0xbd}, {0x1b, 0xbc}, {0x24, 0xe1}}),
         "map: HEVC0@e1; "},
        {"descriptors", info, "map: H2640@e0 PCMA0@c0; "},
        {"nothing", stream_map({}), ""},
        {"entries beyond the map", short_entries, ""},
        {"descriptors beyond the entries", long_info, ""},
        {"too short", part(kStreamMap, PsBytes{0xe0, 0xff, 0, 0}), ""},
        {"empty", part(kStreamMap, PsBytes{}), ""},
    };
    for (const MapCase& one : cases) {
        PesText read;
        read.feed(joined({pack(), one.bytes}));
        EXPECT_EQ(read.text, one.expected) << one.what;
    }
}

TEST(PsDemuxer, BeforeTheMapNothingIsKept) {
    PesText read;
    read.feed(joined({pack(), packet(kVideo, 900, PsBytes(60'000, 1))}));
    EXPECT_EQ(read.text, "");
    EXPECT_EQ(read.demuxer.memory(), 0u);
}

TEST(PsDemuxer, GapsCostWhatMayBeHit) {
    const PsBytes video = packet(kVideo, 900, kPayload), next = packet(kVideo, 1800, kPayload);
    const PsBytes begun(next.begin(), next.end() - 3);
    struct GapCase {
        std::string what;
        PsBytes before;
        std::string expected;
    };
    for (const auto& [what, before, expected] : {
             GapCase{"within an access unit", joined({kBegin, video}), "e0 900 +10; !e0 - +0; "},
             GapCase{"in the next one: the one before is whole", joined({kBegin, video, begun}),
                     "e0 900 +10; !e0 1800 +0; "},
             GapCase{"in the first", joined({kBegin, begun}), "!e0 1800 +0; "},
             GapCase{"in a header", joined({kBegin, video, {0, 0, 1}}), "e0 900 +10; !e0 - +0; "},
             GapCase{"in a pack's header", joined({kBegin, video, {0, 0, 1, kPack, 0x44}}), "e0 900 +10; !e0 - +0; "},
         }) {
        PesText read;
        read.feed(before);
        read.demuxer.on_gap();
        EXPECT_EQ(read.demuxer.memory(), 0u);
        read.feed(joined({next, pack(), next}));
        EXPECT_EQ(read.text, kMapText + expected + "?e0 1800 +10; ") << what;
    }
}

TEST(PsDemuxer, AnEndOfAnAccessUnitIsTold) {
    const PsBytes video = packet(kVideo, 900, kPayload);
    PesText read;
    read.feed(joined({kBegin, video}));
    EXPECT_TRUE(read.demuxer.at_boundary());
    read.demuxer.end_unit();
    read.feed(video);
    EXPECT_EQ(read.text, std::string(kMapText) + "e0 900 +10; e0 900 +10; ") << "a camera whose times stand still";
    read.feed(PsBytes(video.begin(), video.begin() + 8));
    EXPECT_FALSE(read.demuxer.at_boundary());
}

TEST(PsDemuxer, TimesWrap) {
    constexpr uint64_t kLast = (uint64_t{1} << 33) - 1800;
    PesText read;
    read.feed(joined({kBegin, packet(kVideo, kLast, kPayload), packet(kVideo, 1800, kPayload)}));
    EXPECT_EQ(read.text, fmt::format("{}e0 {} +10; e0 {} +10; ", kMapText, kLast, kLast + 3600));
}

TEST(PsDemuxer, PacketsOfAnyLength) {
    PesText read;
    const PsBytes longest = packet(kVideo, 900, PsBytes(0xffff - 8, 1));
    read.feed(joined({kBegin, longest}), 1000);
    EXPECT_EQ(read.text, std::string(kMapText) + "e0 900 +65527; ");
    read.feed(PsBytes(longest.begin(), longest.end() - 1));
    EXPECT_GE(read.demuxer.memory(), 65'000u);
    EXPECT_LE(read.demuxer.memory(), 70'000u);
    std::vector<uint64_t> unfinished;
    read.demuxer.list_unfinished(unfinished);
    EXPECT_EQ(unfinished, std::vector<uint64_t>{2});
    read.demuxer.drop_unfinished();
    EXPECT_EQ(read.demuxer.memory(), 0u);
}

}  // namespace
}  // namespace ps
