#include "media/language.h"

#include <gtest/gtest.h>

namespace media {

TEST(Language, OfATag) {
    struct {
        std::string_view tag, code;
    } table[] = {
        {"eng", "eng"}, {"en", "eng"},     {"EN", "eng"},     {"en-GB", "eng"}, {"zh-Hant-TW", "zho"}, {"pt_BR", "por"},
        {"de", "deu"},  {"ger", "ger"},    {"aa", "aar"},     {"zu", "zul"},    {"cmn-CN", "cmn"},     {"", ""},
        {"und", ""},    {"UND", ""},       {"x", ""},         {"xx", ""},       {"english", ""},       {"e1g", ""},
        {"-en", ""},    {"e\xcc\x81", ""}, {"i-klingon", ""}, {"qaa", "qaa"},
    };
    for (auto& row : table) EXPECT_EQ(to_string(language_of(row.tag)), row.code) << row.tag;
    EXPECT_EQ(language_of(std::string(1'000'000, 'e')), Language{});
    EXPECT_EQ(language_of(std::string_view("e\0g", 3)), Language{});
}

TEST(Language, TwoLettersOfThree) {
    const std::pair<const char*, const char*> cases[] = {{"eng", "en"}, {"deu", "de"}, {"ger", "de"}, {"zul", "zu"},
                                                         {"wel", "cy"}, {"yue", ""},   {"en", ""},    {"", ""},
                                                         {"und", ""},   {"ng ", ""}};
    for (const auto& [code, letters] : cases) EXPECT_EQ(two_letters(code), letters) << code;
}

TEST(Language, TagsOfRfc5646) {
    const std::pair<const char*, const char*> cases[] = {
        {"eng", "en"},  {"ger", "de"},     {"deu", "de"}, {"de-AT", "de-AT"},  {"en", "en"},
        {"yue", "yue"}, {"", ""},          {"und", ""},   {"e", ""},           {"en-", ""},
        {"12", ""},     {"English!", ""},  {"en\"x", ""}, {"toolonglang", ""}, {"ger-AT", "de-AT"},
        {"wel", "cy"},  {"pt_BR", "pt-BR"}};
    for (const auto& [language, tag] : cases) EXPECT_EQ(language_tag(language), tag) << language;
}

}  // namespace media
