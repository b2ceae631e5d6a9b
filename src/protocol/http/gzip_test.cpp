#include "protocol/http/gzip.h"

#include <gtest/gtest.h>

#include "protocol/http/gzip_testing.h"

namespace http {
namespace {

TEST(Gzip, IsWhatGunzipReads) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "#EXTINF:2.000,\nlivestream-" + std::to_string(i) + ".ts\n";
    std::string zipped = gzip(text);
    ASSERT_LT(zipped.size(), text.size() / 3);
    EXPECT_EQ(unzip(zipped), text);
}

TEST(Gzip, APrefixTakesAnyEnd) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{500}, size_t{0xffff}, size_t{0x10000}, size_t{200'000}}) {
        std::string begin = "#EXTM3U\n", end;
        for (size_t i = 0; i < size; ++i) end += static_cast<char>('a' + i * i % 26);
        EXPECT_EQ(unzip(GzipPrefix::make(begin)->with(end)), begin + end) << size;
        EXPECT_EQ(unzip(GzipPrefix::make(end)->with(begin)), end + begin) << size;
    }
}

TEST(Gzip, WhoWantsIt) {
    for (const char* yes : {"gzip", "br, gzip", "GZIP;q=0.5", "*", "deflate , gzip ; q=1", "gzip;q=0.001"})
        EXPECT_TRUE(accepts_gzip(yes)) << yes;
    for (const char* no : {"", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip", "identity, deflate", ",,"})
        EXPECT_FALSE(accepts_gzip(no)) << no;
}

}  // namespace
}  // namespace http
