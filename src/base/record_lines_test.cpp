#include "base/record_lines.h"

#include <gtest/gtest.h>

namespace base {
namespace {

using Fields = std::vector<std::string>;

TEST(RecordLines, AnyTextIsOneFieldOfOneLine) {
    const std::string odd = "tab\t line\n percent% \x7f \x01 \xc3\xbc";
    const std::string line = record_line({"+", odd, ""});
    EXPECT_EQ(line, "+\ttab%09 line%0A percent%25 %7F %01 \xc3\xbc\t\n");
    EXPECT_EQ(record_fields(line.substr(0, line.size() - 1)), (Fields{"+", odd, ""}));
}

TEST(RecordLines, WhatIsNoEscapeStays) {
    EXPECT_EQ(record_fields("%"), Fields{"%"});
    EXPECT_EQ(record_fields("%4"), Fields{"%4"});
    EXPECT_EQ(record_fields("%4x%zz%2"), Fields{"%4x%zz%2"});
    EXPECT_EQ(record_fields("%41%0a"), Fields{"A\n"});
    EXPECT_EQ(record_fields(""), Fields{""});
    EXPECT_EQ(record_fields("\t"), (Fields{"", ""}));
}

TEST(RecordLines, OnlyCompleteLinesAreTaken) {
    std::string_view text = "one\n\ntwo\ncut", line;
    Fields lines;
    while (take_line(text, line)) lines.emplace_back(line);
    EXPECT_EQ(lines, (Fields{"one", "", "two"}));
    EXPECT_EQ(text, "cut");
}

}  // namespace
}  // namespace base
