#include "service/api/json_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "service/api/envelope.h"

namespace service::api {
namespace {

TEST(JsonTextTest, SaysTheSameAsATree) {
    std::string text = "[";
    JsonText out(text);
    for (int i = 0; i < 2; ++i) {
        out.open();
        out.field("text", "plain, with a space");
        out.field("empty", "");
        out.field("yes", true);
        out.field("no", false);
        out.field("number", -17);
        out.field("bytes", std::numeric_limits<uint64_t>::max());
        out.field("seconds", 1.25);
        out.field("none", std::numeric_limits<double>::quiet_NaN());
        out.open("inner");
        out.field("a", 1);
        out.close();
        out.open("hollow");
        out.close();
        out.null("nothing");
        out.close();
    }
    text += "]";
    const Json one = {{"text", "plain, with a space"},
                      {"empty", ""},
                      {"yes", true},
                      {"no", false},
                      {"number", -17},
                      {"bytes", std::numeric_limits<uint64_t>::max()},
                      {"seconds", 1.25},
                      {"none", nullptr},
                      {"inner", {{"a", 1}}},
                      {"hollow", Json::object()},
                      {"nothing", nullptr}};
    EXPECT_EQ(text, base::to_text(Json::array({one, one})));
}

TEST(JsonTextTest, WhatPeersWriteStaysInItsText) {
    const std::string_view kTexts[] = {
        "\"quoted\"", "back\\slash",        "line\nbreak",  std::string_view("zero\0in it", 10),
        "\x7f\x1f",   "gr\xc3\xbc\xc3\x9f", "cut off \xc3", "\xff\xfe"};
    for (const std::string_view value : kTexts) {
        std::string text;
        JsonText out(text);
        out.open();
        out.field("text", value);
        out.close();
        const Json read = Json::parse(text, nullptr, false);
        ASSERT_TRUE(read.is_object()) << text;
        EXPECT_EQ(text, base::to_text(Json{{"text", value}}));
    }
}

}  // namespace
}  // namespace service::api
