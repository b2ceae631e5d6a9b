#include "config/path_variables.h"

#include <gtest/gtest.h>

namespace config {
namespace {

TEST(PathVariables, Expand) {
    PathVariables variables;
    variables.set("vhost", "v.com").set("app", "live").set("stream", "[app]").set("seq", "12");
    variables.set("duration", "100").set("duration", "200").set_time(1767942303042, true);
    struct Case {
        const char* pattern;
        const char* expected;
    };
    for (const Case& c :
         std::initializer_list<Case>{{"[vhost]/[app]/x.flv", "v.com/live/x.flv"},
                                     {"[stream]", "[app]"},  // a value is not expanded again
                                     {"[2006]-[01]-[02] [15]:[04]:[05].[999]", "2026-01-09 07:05:03.042"},
                                     {"[timestamp]-[duration]-[seq]", "1767942303042-200-12"},
                                     {"[unknown]/[app", "[unknown]/[app"},
                                     {"[[app]]", "[live]"},
                                     {"", ""},
                                     {"plain", "plain"}}) {
        EXPECT_EQ(variables.expand(c.pattern), c.expected) << c.pattern;
    }
}

TEST(PathVariables, UnknownOnes) {
    constexpr std::string_view kNames[] = {"vhost", "app", "stream"};
    for (const auto& [pattern, unknown] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"./[vhost]/[app]/[stream].[timestamp].flv", ""},
             {"[2006]-[01]-[02] [15]:[04]:[05].[999]", ""},
             {"[app]/[streem].[nor_this].flv", "[streem]"},
             {"[seq]", "[seq]"},
             {"[[app]]", ""},
             {"[a[b]", "[b]"},
             {"[::1]:1935/[0:v]/[a b]/[]/[app", ""},
             {"", ""}}) {
        EXPECT_EQ(unknown_variable(pattern, kNames), unknown) << pattern;
    }
}

TEST(PathVariables, SafeParts) {
    EXPECT_EQ(safe_part("livestream"), "livestream");
    EXPECT_EQ(safe_part("../../etc/passwd"), ".._.._etc_passwd");
    EXPECT_EQ(safe_part(".."), "__");
    EXPECT_EQ(safe_part("."), "_");
    EXPECT_EQ(safe_part(""), "_");
    EXPECT_EQ(safe_part("a\nb"), "a_b");
}

}  // namespace
}  // namespace config
