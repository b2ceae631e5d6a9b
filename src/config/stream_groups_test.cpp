#include "config/stream_groups.h"

#include <gtest/gtest.h>

namespace config {
namespace {

StreamGroups names(const Commands& lines) {
    auto made = StreamGroups::make(lines);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : StreamGroups();
}

// "group rank", with '*' where bitrates are the order; empty: it is in none.
std::string place(const StreamGroups& all, const std::string& app, const std::string& name) {
    const auto found = all.find({"v", app, name});
    if (!found) return {};
    EXPECT_EQ(found->group.vhost, "v");
    EXPECT_EQ(found->group.app, app);
    return found->group.name + " " + std::to_string(found->rank) + (found->by_bitrate ? "*" : "");
}

std::vector<std::string> members(const StreamGroups& all, const std::string& app, const std::string& group) {
    std::vector<std::string> out;
    for (const auto& member : all.members({"v", app, group})) out.push_back(member.app + "/" + member.name);
    return out;
}

TEST(StreamGroups, AGroupIsCalledAsWhatItsNamesHaveInCommon) {
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"live/x_540p", "live/x_360p", "live/x_180p"}, "x"},
        {{"live/x_180p", "live/x_1080p"}, "x"},
        {{"live/x", "live/x_360p"}, "x"},
        {{"live/a_x", "live/a_x_360p"}, "a_x"},
        {{"live/a_x_1", "live/a_x_2"}, "a_x"},
        {{"live/cam1", "live/cam2"}, "cam"},
        {{"live/x__1", "live/x__2"}, "x"},
    };
    for (const auto& [words, group] : cases) {
        const StreamGroups all = names({words});
        for (size_t i = 0; i < words.size(); ++i)
            EXPECT_EQ(place(all, "live", words[i].substr(5)), std::string(group) + " " + std::to_string(i)) << words[i];
        EXPECT_EQ(members(all, "live", group), words);
        EXPECT_EQ(place(all, "other", words[0].substr(5)), "");
    }
}

TEST(StreamGroups, PatternsStandForManyGroups) {
    const StreamGroups named = names({{"live/[stream]", "live/[stream]_360p", "live/[stream]_180p"}});
    EXPECT_EQ(place(named, "live", "x_180p"), "x 2");
    EXPECT_EQ(place(named, "live", "my_show"), "my_show 0");
    EXPECT_EQ(place(named, "live", "my_show_360p"), "my_show 1") << "the longest pattern counts";
    EXPECT_EQ(place(named, "live", "_360p"), "_360p 0") << "a group has a name";
    EXPECT_EQ(place(named, "other", "x_180p"), "");
    EXPECT_EQ(members(named, "live", "x"), (std::vector<std::string>{"live/x", "live/x_360p", "live/x_180p"}));
    EXPECT_EQ(members(named, "live", "x_360p"), (std::vector<std::string>{"live/x_360p_360p", "live/x_360p_180p"}))
        << "x_360p is in the group x";

    const StreamGroups any = names({{"[stream]_*"}});
    EXPECT_EQ(place(any, "a/b", "x_hd"), "x 0*");
    EXPECT_EQ(place(any, "live", "my_show_hd"), "my_show 0*");
    for (const char* none : {"x", "x_", "_hd", "_", ""}) EXPECT_EQ(place(any, "live", none), "") << none;
    EXPECT_TRUE(members(any, "live", "x").empty()) << "not known before they are published";

    const StreamGroups text = names({{"[stream]-v*p", "[stream]"}});
    EXPECT_EQ(place(text, "live", "x-v360p"), "x 0*");
    EXPECT_EQ(place(text, "live", "x-vp"), "x-vp 1*") << "'*' is not empty";
    EXPECT_EQ(place(text, "live", "x-v3_0p"), "x-v3_0p 1*");
    EXPECT_EQ(place(text, "live", "a-v1-v2p"), "a-v1 0*");
}

TEST(StreamGroups, NamesComeBeforePatterns) {
    const StreamGroups all = names({{"[stream]_*"}, {"live/x_a", "live/x_b"}});
    EXPECT_EQ(place(all, "live", "x_b"), "x 1");
    EXPECT_EQ(place(all, "live", "x_c"), "x 0*");
}

TEST(StreamGroups, AGroupMayHaveAMemberOfItsName) {
    EXPECT_EQ(
        names({{"live/x", "live/x_a"}, {"live/y_a", "live/y_b"}, {"[stream]", "[stream]_s"}}).groups_with_own_stream(),
        (std::vector<std::string>{"live/x", "[stream]"}));
}

TEST(StreamGroups, WhatIsWrongIsSaid) {
    std::vector<std::string> many;
    for (int i = 0; i < 17; ++i) many.push_back("live/x_" + std::to_string(i));
    const std::pair<Commands, const char*> cases[] = {
        {{{"live/x_1"}}, "have no beginning in common"},
        {{{"live/a", "live/b"}}, "have no beginning in common"},
        {{{"live/x_1", "other/x_2"}}, "one application"},
        {{{"x_1", "x_2"}}, "is no stream"},
        {{{"live/x_1", "live/"}}, "is no stream"},
        {{{"live/x_1", "live/x_*"}}, "is no stream"},
        {{{"live/x_1", "live/x_1"}}, "is there twice"},
        {{{"live/x_1", "live/x_2"}, {"live/x_1", "live/x_1_2"}}, "is in two groups"},
        {{{"live/x_1", "live/x_2"}, {"live/x_3", "live/x_4"}}, "there is a group live/x already"},
        {{{"[stream]_*"}, {"[stream]_a", "[stream]_*"}}, "is in two groups"},
        {{{"[stream]_*", "live/x_1"}}, "one application"},
        {{{"[stream]_*", "x_1"}}, "does not begin with [stream]"},
        {{{"live/a[stream]_b"}}, "does not begin with [stream]"},
        {{{"[stream]*"}}, "behind a text"},
        {{{"[stream]_*_*"}}, "once"},
        {{{"[stream]_[app]"}}, "only '*' may follow"},
        {{many}, "at most 16"},
        {Commands(101, {"live/x_1", "live/x_2"}), "more than 100"},
    };
    for (const auto& [lines, text] : cases) {
        const auto made = StreamGroups::make(lines);
        ASSERT_FALSE(made) << text;
        EXPECT_NE(made.error().text().find(text), std::string::npos) << made.error().text();
    }
}

}  // namespace
}  // namespace config
