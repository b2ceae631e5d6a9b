#include "protocol/http/via.h"

#include <gtest/gtest.h>

namespace http {
namespace {

TEST(Via, IsAPath) {
    EXPECT_EQ(path_of_via(""), "");
    EXPECT_EQ(path_of_via("1.1 k3f92a0x"), "k3f92a0x");
    EXPECT_EQ(path_of_via("1.0 fred, HTTP/1.1 p.example.net (a comment) ,1.1 b"), "fred,p.example.net,b");
    EXPECT_EQ(path_of_via("1.1 , 1.1, ,,1.1 a\r\nX: y"), "aX") << "no byte that a name has not";
    EXPECT_EQ(path_of_via("1.1 a\"b;c"), "abc");
    const std::string much(3 * kMaxViaPath, 'x');
    EXPECT_EQ(path_of_via("1.1 a, 1.1 " + much + ", 1.1 b"), "a,b");
}

TEST(Via, IsWrittenAsItIsRead) {
    for (const char* path : {"", "a", "a,b", "k3f92a0x,b,c"}) EXPECT_EQ(path_of_via(via_of_path(path)), path);
    EXPECT_EQ(via_of_path("a,b"), "1.1 a, 1.1 b");
    EXPECT_EQ(via_of_path(",a,,"), "1.1 a");
    EXPECT_EQ(via_of_path("a.example,b", "RTSP/1.0"), "RTSP/1.0 a.example, RTSP/1.0 b");
    EXPECT_EQ(path_of_via("RTSP/1.0 a.example, RTSP/1.0 b"), "a.example,b");
}

TEST(Via, NamesAreWhole) {
    EXPECT_TRUE(has_passed("ab,c", "ab"));
    EXPECT_TRUE(has_passed("ab,c", "c"));
    for (const char* name : {"a", "b", "ab,c", "b,c", ""}) EXPECT_FALSE(has_passed("ab,c", name)) << name;
    EXPECT_FALSE(has_passed("", "ab"));
}

}  // namespace
}  // namespace http
