#include "media/codec_parameter.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {
namespace {

std::string of(Codec codec, std::string_view config) {
    Track track;
    track.kind = codec_info(codec).kind;
    track.codec = codec;
    if (!config.empty()) {
        Frame header;
        header.kind = track.kind;
        header.codec = codec;
        header.sequence_header = true;
        header.payload = base::Slice::copy(base::hex(config));
        track.header = std::move(header);
    }
    return codec_parameter(track);
}

TEST(CodecParameter, OfEachCodec) {
    EXPECT_EQ(of(Codec::kH264, "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c"),
              "avc1.640020");
    EXPECT_EQ(of(Codec::kH264, "0142c01effe1000467 42c01e 010001 68"), "avc1.42c01e");
    // Main, compatible with Main and Main 10, main tier, level 3.1, progressive: as browsers write it.
    EXPECT_EQ(of(Codec::kHevc, "01 01 60000000 900000000000 5d f000 fc fd f8 f8 0000 0f 00"), "hvc1.1.6.L93.90");
    // Main 10, high tier.
    EXPECT_EQ(of(Codec::kHevc, "01 22 20000000 b00000000000 99 f000 fc fd fa fa 0000 0f 00"), "hvc1.2.4.H153.B0");
    EXPECT_EQ(of(Codec::kHevc, "01 01 60000000 000000000000 5d f000 fc fd f8 f8 0000 0f 00"), "hvc1.1.6.L93");
    EXPECT_EQ(of(Codec::kAv1, "81080c00"), "av01.0.08M.08");
    EXPECT_EQ(of(Codec::kVp9, "01000000000b820202020000"), "vp09.00.11.08");
    EXPECT_EQ(of(Codec::kAac, "1210"), "mp4a.40.2");
    EXPECT_EQ(of(Codec::kAac, "2b920800"), "mp4a.40.5");
    EXPECT_EQ(of(Codec::kMp3, ""), "mp4a.40.34");
    EXPECT_EQ(of(Codec::kOpus, ""), "Opus");
    EXPECT_EQ(of(Codec::kAc3, ""), "ac-3");
    EXPECT_EQ(of(Codec::kEac3, ""), "ec-3");
    EXPECT_EQ(of(Codec::kFlac, ""), "fLaC");
}

TEST(CodecParameter, NoneWithoutAConfigurationOrAName) {
    for (const Codec codec : {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp9, Codec::kAac}) {
        EXPECT_EQ(of(codec, ""), "");
        EXPECT_EQ(of(codec, "00"), "");
    }
    EXPECT_EQ(of(Codec::kSpeex, ""), "");
}

TEST(CodecParameter, OfSeveralTracksHasEachOnce) {
    const auto all = [](std::vector<const Track*> tracks) { return codecs_parameter(tracks); };
    Track opus, mp3, speex;
    opus.codec = Codec::kOpus;
    mp3.codec = Codec::kMp3;
    speex.codec = Codec::kSpeex;
    EXPECT_EQ(all({&opus, &mp3, &opus}), "Opus,mp4a.40.34");
    EXPECT_EQ(all({&opus, &speex}), "") << "a part of them would be wrong";
    EXPECT_EQ(all({&opus, nullptr}), "");
    EXPECT_EQ(all({}), "");
}

}  // namespace
}  // namespace media
