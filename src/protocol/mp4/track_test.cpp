#include "protocol/mp4/track.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/audio_headers.h"
#include "protocol/mp4/frames_testing.h"

namespace mp4 {

using base::hex;
using media::Codec;
using media::Frame;

namespace {

std::string type_of(const std::vector<uint8_t>& box, size_t at = 4) {
    return std::string(box.begin() + at, box.begin() + at + 4);
}

bool contains(const std::vector<uint8_t>& box, const std::vector<uint8_t>& part) {
    return std::ranges::search(box, part).begin() != box.end();
}

}  // namespace

TEST(Mp4Track, EveryCodecOfMp4) {
    struct Case {
        Frame header;
        const char* type;
        const char* config;  // content of the configuration box, starting with its type
        uint32_t timescale, frame_ticks;
        int width;
    };
    Frame vp9_key = frame_of(Codec::kVp9, hex("824983420013f00b360438241c18"), 0, 0, true);
    const Case cases[] = {
        {h264_header(), "avc1", "61766343 01640020ffe1", 90'000, 0, 768},
        {hevc_header(), "hvc1", "68766343 01016000", 90'000, 0, 768},
        {av1_header(), "av01", "61763143 81000c000a0b", 90'000, 0, 320},
        {header_of(Codec::kVp9, "000b820202020000"), "vp09", "76706343 01000000 000b820202020000", 90'000, 0, 320},
        {header_of(Codec::kVp9, "01000000 000b820202020000"), "vp09", "76706343 01000000 000b820202020000", 90'000, 0,
         320},
        {frame_of(Codec::kVp8, hex("b043009d012ab000900007"), 0, 0, true), "vp08", "76706343 01000000 00008202", 90'000,
         0, 176},
        {aac_header(), "mp4a",
         "65736473 00000000 03808080 22 0000 00 04808080 14 40 15 000000 00000000 00000000 05808080 02 1210 06808080 "
         "01 02",
         44100, 1024, 0},
        // HE-AAC: 22,050 Hz doubled.
        {aac_header("2b920800"), "mp4a", "2b920800", 44100, 2048, 0},
        {frame_of(Codec::kMp3, hex("fffb9064")), "mp4a", "04808080 0d 6b 15", 44100, 1152, 0},
        {frame_of(Codec::kMp3, hex("fff39064")), "mp4a", "04808080 0d 69 15", 22050, 576, 0},
        {header_of(Codec::kOpus, "4f70757348656164 01 02 3801 80bb0000 0000 00"), "Opus",
         "644f7073 00 02 0138 0000bb80 0000 00", 48000, 0, 0},
        {frame_of(Codec::kOpus, hex("fc00")), "Opus", "644f7073 00 02 0000 0000bb80 0000 00", 48000, 0, 0},
        {header_of(Codec::kFlac, "664c6143 0400 0400 000000 000815 0bb800f0 00000000 00000000000000000000000000000000"),
         "fLaC", "64664c61 00000000 80000022 04000400", 48000, 0, 0},
        // 48 kHz, bsid 8, mono, 96 kbit/s
        {frame_of(Codec::kAc3, hex("0b77480d0c402f842bc1")), "ac-3", "64616333 1008c0", 48000, 1536, 0},
        {frame_of(Codec::kEac3, hex("0b7700bf3287c0002106")), "ec-3", "64656333", 48000, 1536, 0},
    };
    for (const Case& c : cases) {
        auto track = make_track(7, c.header, c.header.codec == Codec::kVp9 ? &vp9_key : nullptr);
        ASSERT_TRUE(track) << c.type << ": " << track.error().text();
        ASSERT_EQ(track->entries.size(), 1u);
        const auto& box = track->entries[0];
        EXPECT_EQ(type_of(box), c.type);
        EXPECT_EQ(size_t{box[2]} << 8 | box[3], box.size());
        EXPECT_TRUE(contains(box, hex(c.config))) << c.type << " has no " << c.config;
        EXPECT_EQ(track->timescale, c.timescale) << c.type;
        EXPECT_EQ(track->frame_ticks, c.frame_ticks) << c.type;
        EXPECT_EQ(track->width, c.width) << c.type;
        EXPECT_EQ(track->id, 7u);
    }
}

TEST(Mp4Track, OtherCodecsAreRefused) {
    Frame video = header_of(Codec::kH263, "00");
    Frame audio = frame_of(Codec::kSpeex, hex("00"));
    for (const Frame& frame : {video, audio}) {
        auto track = make_track(1, frame);
        ASSERT_FALSE(track);
        EXPECT_EQ(track.error().code(), base::Code::kRefused);
    }
    EXPECT_FALSE(make_track(1, header_of(Codec::kH264, "0164")));
    EXPECT_FALSE(make_track(1, aac_header("")));
}

TEST(Mp4Track, HevcIsNamedByWhereItsParameterSetsAre) {
    auto complete = make_track(1, hevc_header());
    ASSERT_TRUE(complete);
    for (const char* array : {"a0 0001", "a1 0001", "a2 0001"})
        EXPECT_TRUE(contains(complete->entries[0], hex(array))) << array;
    auto in_band = make_track(1, header_of(Codec::kHevc, "010160000000 900000000000 3ff000fcfdf8f800000f00"));
    ASSERT_TRUE(in_band) << in_band.error().text();
    EXPECT_EQ(type_of(in_band->entries[0]), "hev1");
}

TEST(Mp4Track, AnotherConfigurationIsAnotherEntry) {
    auto track = make_track(1, h264_header());
    ASSERT_TRUE(track);
    Frame other =
        header_of(Codec::kH264, "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22d");
    EXPECT_FALSE(*extend_track(*track, h264_header()));
    EXPECT_TRUE(*extend_track(*track, other));
    EXPECT_EQ(track->entry, 2u);
    EXPECT_FALSE(*extend_track(*track, other));
    EXPECT_TRUE(*extend_track(*track, h264_header()));
    EXPECT_EQ(track->entry, 1u);
    EXPECT_EQ(track->entries.size(), 2u);
    auto codec = extend_track(*track, hevc_header());
    ASSERT_FALSE(codec);
    EXPECT_EQ(codec.error().code(), base::Code::kRefused);
    EXPECT_FALSE(extend_track(*track, header_of(Codec::kH264, "01")));
    auto audio = make_track(2, aac_header());
    EXPECT_FALSE(extend_track(*audio, aac_header("1190")));  // 48 kHz
}

TEST(Mp4Track, AHeaderThatDoesNotTellTheSizeChangesNothing) {
    Frame key = frame_of(Codec::kVp9, hex("824983420013f00b360438241c18"), 0, 0, true);
    Frame header = header_of(Codec::kVp9, "000b820202020000");
    auto track = make_track(1, header, &key);
    ASSERT_TRUE(track);
    EXPECT_FALSE(*extend_track(*track, header));
    EXPECT_EQ(track->width, 320);
}

TEST(Mp4Track, LanguagesAreCodesOrTags) {
    for (const char* known : {"deu", "en", "pt-BR", "zh-Hant-TW", "ENG", "x-klingon"})
        EXPECT_EQ(language_tag(known), known);
    for (const char* unknown : {"", "und", "-en", "1en", "d e", "d\xc3\xa9", "en\n", "en_US"})
        EXPECT_EQ(language_tag(unknown), "") << unknown;
    EXPECT_EQ(language_tag(std::string(kMaxLanguage, 'a')).size(), kMaxLanguage);
    EXPECT_EQ(language_tag(std::string(kMaxLanguage + 1, 'a')), "");
}

TEST(Mp4Track, LabelsAreBoundedText) {
    EXPECT_EQ(track_label("Kommentar, \xc3\xb6sterreichisch"), "Kommentar, \xc3\xb6sterreichisch");
    EXPECT_EQ(track_label(std::string_view("a\0b\x7f\n\tc", 7)), "abc");
    EXPECT_EQ(track_label(std::string(1000, 'a')), std::string(kMaxLabel, 'a'));
    // Not half a character.
    EXPECT_EQ(track_label(std::string(kMaxLabel - 1, 'a') + "\xc3\xb6"), std::string(kMaxLabel - 1, 'a'));
    EXPECT_EQ(track_label(std::string(1000, '\xbf')), "");
}

TEST(Mp4Track, EntriesAreBounded) {
    auto track = make_track(1, h264_header());
    for (int i = 0; i < 100; ++i) {
        auto config = hex("01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb200");
        config.back() = static_cast<uint8_t>(i);
        Frame header = frame_of(Codec::kH264, config);
        header.sequence_header = true;
        auto extended = extend_track(*track, header);
        ASSERT_EQ(extended.has_value(), i < static_cast<int>(kMaxEntries)) << i;  // i = 44 gives the first header again
        EXPECT_TRUE(extended || extended.error().code() == base::Code::kLimit);
    }
    EXPECT_EQ(track->entries.size(), kMaxEntries);
}

TEST(Mp4Track, AudioFramesTellTheirDuration) {
    auto opus = make_track(1, frame_of(Codec::kOpus, hex("fc00")));
    EXPECT_EQ(frame_ticks(*opus, hex("fc00")), 960u);   // 20 ms
    EXPECT_EQ(frame_ticks(*opus, hex("e400")), 120u);   // 2.5 ms
    EXPECT_EQ(frame_ticks(*opus, hex("fd00")), 1920u);  // two of 20 ms
    auto flac = make_track(
        1, header_of(Codec::kFlac, "0400 0400 000000 000815 0bb800f0 00000000 00000000000000000000000000000000"));
    ASSERT_TRUE(flac);
    EXPECT_EQ(frame_ticks(*flac, hex("fff8c91800")), 4096u);
    EXPECT_EQ(frame_ticks(*flac, hex("fff8691800ff00")), 256u);
    EXPECT_EQ(frame_ticks(*flac, hex("fff87918c28005ff")), 1536u);
    EXPECT_EQ(frame_ticks(*flac, hex("fff8")), 0u);
}

}  // namespace mp4
