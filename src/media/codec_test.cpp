#include "media/codec.h"

#include <gtest/gtest.h>

namespace media {

TEST(Codec, FourCcsAndIdsLeadBack) {
    for (int i = 1; i <= static_cast<int>(Codec::kAmf0); ++i) {
        const CodecInfo& info = codec_info(static_cast<Codec>(i));
        EXPECT_EQ(info.codec, static_cast<Codec>(i));
        EXPECT_FALSE(info.name.empty());
        if (info.fourcc) {
            EXPECT_EQ(codec_from_fourcc(info.kind, info.fourcc), info.codec) << info.name;
        }
        if (info.flv_id >= 0) {
            EXPECT_EQ(codec_from_flv_id(info.kind, info.flv_id), info.codec) << info.name;
        }
    }
}

TEST(Codec, SecondIds) {
    EXPECT_EQ(codec_from_flv_id(Kind::kAudio, 14), Codec::kMp3);
    EXPECT_EQ(codec_from_flv_id(Kind::kAudio, 4), Codec::kNellymoser);
    EXPECT_EQ(codec_from_flv_id(Kind::kAudio, 5), Codec::kNellymoser);
}

TEST(Codec, UnknownOnes) {
    EXPECT_FALSE(codec_from_fourcc(Kind::kVideo, 0));
    EXPECT_FALSE(codec_from_fourcc(Kind::kAudio, fourcc("avc1")));
    EXPECT_FALSE(codec_from_flv_id(Kind::kVideo, 15));
    EXPECT_FALSE(codec_from_flv_id(Kind::kAudio, 9));
    EXPECT_FALSE(codec_from_flv_id(Kind::kVideo, -1));
}

TEST(Codec, FourCcIsBigEndian) { EXPECT_EQ(fourcc("avc1"), 0x61766331u); }

}  // namespace media
