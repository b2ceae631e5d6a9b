#include "base/text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(TextTest, ControlBytesAreReplaced) {
    EXPECT_EQ(for_log("a\r\nb\x7f\x1b[1m"), "a??b??[1m");
    EXPECT_EQ(for_log(std::string_view("a\0b", 3)), "a?b");
    EXPECT_EQ(for_log("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(TextTest, LongTextIsCut) {
    EXPECT_EQ(for_log("12345", 5), "12345");
    EXPECT_EQ(for_log("123456", 5), "12345...");
}

TEST(TextTest, FormatsAreAppended) {
    std::string text = "a";
    append_format(text, "{}{:02X}", 1, 10);
    append_format(text, "");
    EXPECT_EQ(text, "a10A");
}

}  // namespace
}  // namespace base
