#include "media/codec.h"

#include <gtest/gtest.h>

namespace media {

TEST(Codec, EachCodecHasARow) {
    for (int i = 1; i <= static_cast<int>(Codec::kAmf0); ++i) {
        const CodecInfo& info = codec_info(static_cast<Codec>(i));
        EXPECT_EQ(info.codec, static_cast<Codec>(i));
        EXPECT_FALSE(info.name.empty());
    }
}

TEST(Codec, FourCcIsBigEndian) { EXPECT_EQ(fourcc("avc1"), 0x61766331u); }

}  // namespace media
