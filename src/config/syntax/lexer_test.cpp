#include "config/syntax/lexer.h"

#include <gtest/gtest.h>

namespace config {
namespace {

// Words in brackets, punctuation as it is, errors as !.
std::string lexed(std::string_view text) {
    Lexer lexer(text);
    std::string out;
    for (int i = 0; i < 1000; ++i) {
        auto token = lexer.next();
        if (!token) {
            out += "!";
        } else if (token->kind == Token::Kind::kEnd) {
            return out;
        } else {
            out += token->kind == Token::Kind::kWord ? "[" + token->text + "]" : token->text;
        }
    }
    return out + "...";
}

struct LexerCase {
    const char* text;
    const char* expected;
};

class LexerTest : public testing::TestWithParam<LexerCase> {};

TEST_P(LexerTest, Splits) { EXPECT_EQ(lexed(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(All, LexerTest,
                         testing::Values(LexerCase{"", ""}, LexerCase{"listen 1935;", "[listen][1935];"},
                                         LexerCase{"a{b c;}", "[a]{[b][c];}"}, LexerCase{"# all comment", ""},
                                         LexerCase{"a b; # c; d\ne;", "[a][b];[e];"},
                                         LexerCase{"url http://x/#frag;", "[url][http://x/#frag];"},
                                         LexerCase{"mount [vhost]/[app].flv;", "[mount][[vhost]/[app].flv];"},
                                         LexerCase{"a \"b c;{}\" 'd \"e\"';", "[a][b c;{}][d \"e\"];"},
                                         LexerCase{R"(a "q\"q" 'p\'p' "b\\b" "t\tn\n" "\d";)",
                                                   "[a][q\"q][p'p][b\\b][t\tn\n][\\d];"},
                                         LexerCase{"a \"\";", "[a][];"}, LexerCase{"a b\"c\"d;", "[a][b\"c\"d];"},
                                         LexerCase{"a C:\\n;", "[a][C:\\n];"}, LexerCase{"a \"b", "[a]!"},
                                         LexerCase{"a \"b\nc;", "[a]![c];"}, LexerCase{"a \"b\"c;", "[a]![c];"},
                                         LexerCase{"\xEF\xBB\xBFlisten 1;", "[listen][1];"},
                                         LexerCase{"a\r\nb\r\n;", "[a][b];"}, LexerCase{"a \x01\x02 b;", "[a]![b];"}));

TEST(Lexer, CountsLines) {
    Lexer lexer("a\n# c\n\n'b' ;\n");
    EXPECT_EQ(lexer.next()->line, 1);
    EXPECT_EQ(lexer.next()->line, 4);
    EXPECT_EQ(lexer.next()->line, 4);
    EXPECT_EQ(lexer.next()->line, 5);
}

TEST(Lexer, RefusesAWordWithoutEnd) {
    std::string word(Lexer::kLongestWord, 'x');
    const std::string longer = word + "x";
    const std::string quoted = "'" + longer + "'";
    EXPECT_TRUE(Lexer(word).next().has_value());
    EXPECT_FALSE(Lexer(longer).next().has_value());
    EXPECT_FALSE(Lexer(quoted).next().has_value());
}

}  // namespace
}  // namespace config
