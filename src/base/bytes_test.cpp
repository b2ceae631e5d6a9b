#include "base/bytes.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(ByteWriter, WhatIsWrittenIsRead) {
    std::vector<uint8_t> out;
    ByteWriter writer(out);
    writer.u8(0xfe);
    writer.u16(0x1234);
    writer.u24(0x800001);
    writer.u32(0xdeadbeef);
    writer.u32le(0x01020304);
    writer.u64(0x1122334455667788);
    writer.f64(-1.5);
    writer.text("live");
    EXPECT_EQ(writer.size(), 1u + 2 + 3 + 4 + 4 + 8 + 8 + 4);
    ByteReader reader(out);
    EXPECT_EQ(reader.u8(), 0xfe);
    EXPECT_EQ(reader.u16(), 0x1234);
    EXPECT_EQ(reader.u24(), 0x800001u);
    EXPECT_EQ(reader.u32(), 0xdeadbeefu);
    EXPECT_EQ(reader.rest()[0], 4);
    EXPECT_EQ(reader.u32le(), 0x01020304u);
    EXPECT_EQ(reader.u64(), 0x1122334455667788u);
    EXPECT_EQ(reader.f64(), -1.5);
    EXPECT_EQ(reader.text(4), "live");
    EXPECT_EQ(reader.left(), 0u);
    EXPECT_TRUE(reader.ok());
}

TEST(ByteReader, SignedOf24Bits) {
    struct {
        uint8_t bytes[3];
        int32_t expected;
    } rows[] = {{{0, 0, 0}, 0}, {{0x7f, 0xff, 0xff}, 8388607}, {{0x80, 0, 0}, -8388608}, {{0xff, 0xff, 0xff}, -1}};
    for (const auto& row : rows) EXPECT_EQ(ByteReader(row.bytes).i24(), row.expected);
}

TEST(ByteReader, PastTheEndIsZeroAndNeverOkAgain) {
    const uint8_t bytes[] = {1, 2, 3};
    ByteReader reader(bytes);
    EXPECT_EQ(reader.u32(), 0u);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.u8(), 0);
    EXPECT_EQ(reader.left(), 0u);
    EXPECT_TRUE(reader.bytes(0).empty());
    EXPECT_FALSE(reader.ok());

    ByteReader skipper(bytes);
    skipper.skip(3);
    EXPECT_TRUE(skipper.ok());
    skipper.skip(1);
    EXPECT_FALSE(skipper.ok());
    EXPECT_TRUE(ByteReader(bytes).bytes(SIZE_MAX).empty());
    EXPECT_EQ(ByteReader({}).u64(), 0u);
}

TEST(PutInteger, BigEndianUnlessItSaysLittle) {
    uint8_t bytes[13];
    uint8_t* end = put_u32le(put_u32(put_u24(put_u16(bytes, 0x0102), 0x030405), 0x06070809), 0x0d0c0b0a);
    EXPECT_EQ(end, bytes + 13);
    for (int i = 0; i < 13; ++i) EXPECT_EQ(bytes[i], i + 1);
}

}  // namespace
}  // namespace base
