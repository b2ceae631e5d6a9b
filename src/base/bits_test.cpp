#include "base/bits.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace base {
namespace {

// "1 011 0" as bytes, padded with zeros.
std::vector<uint8_t> bytes_of(std::string_view digits) {
    std::vector<uint8_t> bytes;
    size_t n = 0;
    for (char digit : digits) {
        if (digit == ' ') continue;
        if (n % 8 == 0) bytes.push_back(0);
        if (digit == '1') bytes.back() |= static_cast<uint8_t>(0x80 >> n % 8);
        ++n;
    }
    return bytes;
}

TEST(BitReader, ReadsFromTheMostSignificantBit) {
    auto bytes = bytes_of("1 011 0000 11111111 00000001");
    BitReader reader(bytes);
    EXPECT_EQ(reader.bit(), 1u);
    EXPECT_EQ(reader.bits(3), 3u);
    EXPECT_EQ(reader.bits(12), 0xffu);
    EXPECT_EQ(reader.bits_left(), 8u);
    reader.skip(7);
    EXPECT_EQ(reader.bits(1), 1u);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.bit(), 0u);
    EXPECT_FALSE(reader.ok());
}

TEST(BitReader, ThirtyTwoBits) {
    const uint8_t bytes[] = {0x89, 0xab, 0xcd, 0xef};
    EXPECT_EQ(BitReader(bytes).bits(32), 0x89abcdefu);
}

// The first codes of table 9-2 and 9-3 of H.264, and the longest.
TEST(BitReader, ExpGolomb) {
    struct {
        const char* digits;
        uint32_t ue;
        int32_t se;
    } rows[] = {{"1", 0, 0},
                {"010", 1, 1},
                {"011", 2, -1},
                {"00100", 3, 2},
                {"00101", 4, -2},
                {"00111", 6, -3},
                {"0001000", 7, 4},
                {"0000000000000000000000000000000 1 1111111111111111111111111111111", 0xfffffffe, -0x7fffffff}};
    for (const auto& row : rows) {
        auto bytes = bytes_of(row.digits);
        BitReader ue(bytes), se(bytes);
        EXPECT_EQ(ue.ue(), row.ue) << row.digits;
        EXPECT_EQ(se.se(), row.se) << row.digits;
        EXPECT_TRUE(ue.ok() && se.ok()) << row.digits;
    }
}

TEST(BitReader, BrokenExpGolombIsNotOk) {
    for (const char* digits : {"", "00000000", "0000000000000000000000000000000000000001", "0001000 0"}) {
        auto bytes = bytes_of(digits);
        BitReader reader(bytes);
        reader.ue();
        reader.ue();
        reader.ue();
        EXPECT_FALSE(reader.ok()) << digits;
    }
}

TEST(BitReader, SkipPastTheEnd) {
    const uint8_t bytes[] = {0xff};
    BitReader reader(bytes);
    reader.skip(9);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.bits_left(), 0u);
}

}  // namespace
}  // namespace base
