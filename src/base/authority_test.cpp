#include "base/authority.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Authority, HasUserHostAndPort) {
    struct Row {
        std::string_view text, user, host;
        std::optional<uint16_t> port;
    };
    const Row rows[] = {
        {"", "", "", {}},
        {"h", "", "h", {}},
        {"h:80", "", "h", 80},
        {"h:", "", "h", {}},
        {"h:0", "", "h", 0},
        {":80", "", "", 80},
        {"h:65535", "", "h", 65535},
        {"[::1]", "", "::1", {}},
        {"[::1]:80", "", "::1", 80},
        {"[::1]:", "", "::1", {}},
        {"[]", "", "", {}},
        {"u@h", "u", "h", {}},
        {"u:p@h:1", "u:p", "h", 1},
        {"u:a@b@[::1]:8554", "u:a@b", "::1", 8554},
        {"u@", "u", "", {}},
    };
    for (const Row& row : rows) {
        const auto got = split_authority(row.text);
        ASSERT_TRUE(got) << row.text;
        EXPECT_EQ(got->user, row.user) << row.text;
        EXPECT_EQ(got->host, row.host) << row.text;
        EXPECT_EQ(got->port, row.port) << row.text;
    }
}

TEST(Authority, WhatIsMalformedIsRefusedWithoutItsText) {
    for (const std::string_view text : {"[::1", "[", "[::1]x", "[::1]80", "h:x", "h:1x", "h:-1", "h:+1", "h:65536",
                                        "h:1:2", "u:secret@h:x", "u:secret@[h"}) {
        const auto got = split_authority(text);
        ASSERT_FALSE(got) << text;
        EXPECT_EQ(got.error().code(), Code::kProtocol);
        EXPECT_EQ(got.error().text().find("secret"), std::string::npos);
    }
}

}  // namespace
}  // namespace base
