#include "base/utf8.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Utf8, BytesThatAreNoUtf8AreReplaced) {
    EXPECT_EQ(utf8("gr\xc3\xbc\xf0\x9f\x8e\xac", 100), "gr\xc3\xbc\xf0\x9f\x8e\xac");
    EXPECT_EQ(utf8("a\xff"
                   "b\xc3",
                   100),
              "a?b?");
    EXPECT_EQ(utf8("\xc0\x80\xf5\x80\x80\x80", 100), "??????");
    EXPECT_EQ(utf8("abc\xc3\xbc"
                   "d",
                   4),
              "abc\xc3\xbc")
        << "a sequence is never cut";
}

}  // namespace
}  // namespace base
