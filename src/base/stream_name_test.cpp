#include "base/stream_name.h"

#include <gtest/gtest.h>

namespace base {
namespace {

std::string refusal(std::string_view name) {
    const auto good = check_name("app", name);
    return good ? "" : good.error().text();
}

TEST(StreamName, Allowed) {
    for (const std::string_view name : {"live", "a/b", "a b", "a.b", "\xc3\xa9", "%2e%2e", "a:b?c"}) {
        EXPECT_EQ(refusal(name), "") << name;
    }
    EXPECT_EQ(refusal(std::string(kMaxName, 'a')), "");
}

TEST(StreamName, Refused) {
    EXPECT_EQ(refusal(""), "the app is empty");
    EXPECT_EQ(refusal(std::string(kMaxName + 1, 'a')), "the app has 257 bytes, at most 256 are allowed");
    EXPECT_EQ(refusal("a\nb"), "the app 'a?b' has a forbidden character");
    EXPECT_EQ(refusal("a\\b"), "the app 'a\\b' has a forbidden character");
    EXPECT_EQ(refusal("a/../b"), "the app 'a/../b' has '..' or '//'");
    EXPECT_EQ(refusal("a//b"), "the app 'a//b' has '..' or '//'");
}

}  // namespace
}  // namespace base
