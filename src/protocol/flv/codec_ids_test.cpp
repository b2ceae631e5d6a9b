#include "protocol/flv/codec_ids.h"

#include <gtest/gtest.h>

namespace flv {

using media::Codec;
using media::fourcc;
using media::Kind;

TEST(CodecIds, FourCcsAndIdsLeadBack) {
    for (int i = 1; i <= static_cast<int>(Codec::kAmf0); ++i) {
        const media::CodecInfo& info = media::codec_info(static_cast<Codec>(i));
        const CodecIds& ids = codec_ids(info.codec);
        if (ids.fourcc) {
            EXPECT_EQ(codec_from_fourcc(info.kind, ids.fourcc), info.codec) << info.name;
        }
        if (ids.id >= 0) {
            EXPECT_EQ(codec_from_id(info.kind, ids.id), info.codec) << info.name;
        }
    }
}

TEST(CodecIds, SecondIds) {
    EXPECT_EQ(codec_from_id(Kind::kAudio, 14), Codec::kMp3);
    EXPECT_EQ(codec_from_id(Kind::kAudio, 4), Codec::kNellymoser);
    EXPECT_EQ(codec_from_id(Kind::kAudio, 5), Codec::kNellymoser);
}

TEST(CodecIds, UnknownOnes) {
    EXPECT_FALSE(codec_from_fourcc(Kind::kVideo, 0));
    EXPECT_FALSE(codec_from_fourcc(Kind::kAudio, fourcc("avc1")));
    EXPECT_FALSE(codec_from_id(Kind::kVideo, 15));
    EXPECT_FALSE(codec_from_id(Kind::kVideo, 16));
    EXPECT_FALSE(codec_from_id(Kind::kAudio, 9));
    EXPECT_FALSE(codec_from_id(Kind::kVideo, -1));
}

}  // namespace flv
