#include "config/value.h"

#include <gtest/gtest.h>

namespace config {
namespace {

// The value converted back to text, or "error: ...".
template <class T>
std::string read(const std::string& words, const Limits& limits = {}) {
    auto split = split_words(words);
    auto value = ValueType<T>::parse(split, limits);
    return value ? ValueType<T>::text(*value) : "error: " + value.error().text();
}

TEST(Value, Switches) {
    EXPECT_EQ(read<bool>("on"), "on");
    EXPECT_EQ(read<bool>("off"), "off");
    EXPECT_EQ(read<bool>("true"), "error: 'true' is neither on nor off");
    EXPECT_EQ(read<bool>("on off"), "error: takes one value, 2 were given");
    EXPECT_EQ(read<bool>(""), "error: a value is missing");
}

TEST(Value, Integers) {
    EXPECT_EQ(read<int>("42", count(0, 100)), "42");
    EXPECT_EQ(read<int>("-1", count(-1, 100)), "-1");
    EXPECT_EQ(read<int>("101", milliseconds(0, 100)), "error: 101 is out of range: 0 to 100 ms");
    EXPECT_EQ(read<int>("99999999999999999999", count(0, 9)), "error: 99999999999999999999 is out of range: 0 to 9");
    EXPECT_EQ(read<int>("4x", count(0, 100)), "error: '4x' is not a whole number");
    EXPECT_EQ(read<int>("4.5", count(0, 100)), "error: '4.5' is not a whole number");
}

TEST(Value, Numbers) {
    EXPECT_EQ(read<double>("9.9", seconds(0, 10)), "9.9");
    EXPECT_EQ(read<double>("10", seconds(0, 10)), "10");
    EXPECT_EQ(read<double>("10.1", seconds(0, 10)), "error: 10.1 is out of range: 0 to 10 s");
    EXPECT_EQ(read<double>("nan", seconds(0, 10)), "error: 'nan' is not a number");
    EXPECT_EQ(read<double>("1s", seconds(0, 10)), "error: '1s' is not a number");
}

TEST(Value, TextsAndChoices) {
    EXPECT_EQ(read<std::string>("x"), "x");
    EXPECT_EQ(read<std::string>("b", one_of({"a", "b"})), "b");
    EXPECT_EQ(read<std::string>("c", one_of({"a", "b"})), "error: 'c' is none of a|b");
    EXPECT_EQ(read<std::vector<std::string>>("x y"), "x y");
    EXPECT_EQ(read<LogTank>("console"), "console");
    EXPECT_EQ(read<LogTank>("syslog"), "error: 'syslog' is none of file|console");
    EXPECT_EQ(read<TimeJitter>("zero"), "zero");
    EXPECT_EQ(read<TimeJitter>("none"), "error: 'none' is none of full|zero|off");
}

TEST(Value, Addresses) {
    EXPECT_EQ(read<ListenAddresses>("1935"), "1935");
    EXPECT_EQ(read<ListenAddresses>("1935 127.0.0.1:19350 [::1]:1936"), "1935 127.0.0.1:19350 [::1]:1936");
    EXPECT_EQ(read<ListenAddresses>("1935 1935"), "error: '1935' is given twice");
    for (const char* bad : {"x", "0", "65536", "-1", "1.2.3.4", "1.2.3.4:", ":1935", "::1:1935", "[::1]", "[::1]1935",
                            "[]:1", "1935x", "localhost:1935", "[::g]:1", "99999999999999"}) {
        EXPECT_TRUE(read<ListenAddresses>(bad).starts_with("error: ")) << bad;
    }
}

TEST(Value, Quotes) {
    EXPECT_EQ(quote_if_needed("plain"), "plain");
    EXPECT_EQ(quote_if_needed("[vhost]/a.flv"), "[vhost]/a.flv");
    EXPECT_EQ(quote_if_needed(""), "\"\"");
    EXPECT_EQ(quote_if_needed("#!::r=x"), "\"#!::r=x\"");
    EXPECT_EQ(quote_if_needed("a \"b\""), "\"a \\\"b\\\"\"");
}

}  // namespace
}  // namespace config
