#include "service/tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace service::tools {
namespace {

std::string parsed(const std::vector<std::string>& words) {
    const auto command = parse_command(words);
    if (!command) return command.error().text();
    return fmt::format("{} out={} err={}{}", fmt::join(command->words, "|"), command->output_file, command->error_file,
                       command->error_to_output ? "&1" : "");
}

TEST(Command, Redirections) {
    EXPECT_EQ(parsed({"cmd", "-a", "b c"}), "cmd|-a|b c out= err=");
    EXPECT_EQ(parsed({"cmd", ">o"}), "cmd out=o err=");
    EXPECT_EQ(parsed({"cmd", ">", "o"}), "cmd out=o err=");
    EXPECT_EQ(parsed({"cmd", ">>", "o", "x"}), "cmd|x out=o err=");
    EXPECT_EQ(parsed({"cmd", "1>o", "2>e"}), "cmd out=o err=e");
    EXPECT_EQ(parsed({"cmd", "1>", "o", "2>>", "e"}), "cmd out=o err=e");
    EXPECT_EQ(parsed({"cmd", "1", ">", "o", "2", ">", "e"}), "cmd out=o err=e");
    EXPECT_EQ(parsed({"cmd", "1", ">o", "2", ">e"}), "cmd out=o err=e");
    EXPECT_EQ(parsed({"cmd", ">o", "2>&1"}), "cmd out=o err=&1");
    EXPECT_EQ(parsed({"cmd", "2", ">&1"}), "cmd out= err=&1");
}

TEST(Command, OtherWordsAreArguments) {
    EXPECT_EQ(parsed({"cmd", "1", "2", "3>x", "a>b", "<in", "|", "&&", ";", "$HOME", "`id`"}),
              "cmd|1|2|3>x|a>b|<in|||&&|;|$HOME|`id` out= err=");
}

TEST(Command, Errors) {
    EXPECT_EQ(parsed({}), "no program is given");
    EXPECT_EQ(parsed({">", "o"}), "no program is given");
    EXPECT_EQ(parsed({"cmd", ">"}), "'>' needs a file");
    EXPECT_EQ(parsed({"cmd", "2", ">"}), "'>' needs a file");
    EXPECT_EQ(parsed({"cmd", "1>&2"}), "'1>&2': only 2>&1 is possible");
}

}  // namespace
}  // namespace service::tools
