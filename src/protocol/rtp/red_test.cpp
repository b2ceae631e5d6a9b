#include "protocol/rtp/red.h"

#include <gtest/gtest.h>

#include <vector>

namespace rtp {
namespace {

std::vector<uint8_t> bytes_of(const base::Slice& slice) { return {slice.bytes().begin(), slice.bytes().end()}; }

TEST(Red, HasTheOlderPayloadsBeforeThePrimaryOne) {
    const std::vector<uint8_t> older{1, 2, 3}, old{4, 5}, primary{6};
    const RedBlock blocks[] = {{older, 1'920}, {old, 960}};
    EXPECT_EQ(bytes_of(red_payload(111, blocks, primary)),
              (std::vector<uint8_t>{0xef, 1'920 >> 6, 0x00, 3, 0xef, 960 >> 6, 0x00, 2, 111, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(bytes_of(red_payload(111, {}, primary)), (std::vector<uint8_t>{111, 6}));
}

TEST(Red, TheLargestBlock) {
    const std::vector<uint8_t> older(kMaxRedBlockBytes, 7);
    const RedBlock block{older, kMaxRedTimestampOffset};
    const auto out = bytes_of(red_payload(63, std::span(&block, 1), {}));
    EXPECT_EQ(out.size(), 5 + older.size());
    EXPECT_EQ((std::vector<uint8_t>(out.begin(), out.begin() + 5)), (std::vector<uint8_t>{0xbf, 0xff, 0xff, 0xff, 63}));
}

}  // namespace
}  // namespace rtp
