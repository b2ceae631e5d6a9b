#include "config/lexer.h"

#include <gtest/gtest.h>

namespace config {
namespace {

// Words in brackets, marks as they are, errors as !.
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

struct Case {
    const char* text;
    const char* expected;
};

class LexerTest : public testing::TestWithParam<Case> {};

TEST_P(LexerTest, Splits) { EXPECT_EQ(lexed(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    All, LexerTest,
    testing::Values(Case{"", ""}, Case{"listen 1935;", "[listen][1935];"}, Case{"a{b c;}", "[a]{[b][c];}"},
                    Case{"# all comment", ""}, Case{"a b; # c; d\ne;", "[a][b];[e];"},
                    Case{"url http://x/#frag;", "[url][http://x/#frag];"},
                    Case{"mount [vhost]/[app].flv;", "[mount][[vhost]/[app].flv];"},
                    Case{"a \"b c;{}\" 'd \"e\"';", "[a][b c;{}][d \"e\"];"},
                    Case{R"(a "q\"q" 'p\'p' "b\\b" "t\tn\n" "\d";)", "[a][q\"q][p'p][b\\b][t\tn\n][\\d];"},
                    Case{"a \"\";", "[a][];"}, Case{"a b\"c\"d;", "[a][b\"c\"d];"}, Case{"a C:\\n;", "[a][C:\\n];"},
                    Case{"a \"b", "[a]!"}, Case{"a \"b\nc;", "[a]![c];"}, Case{"a \"b\"c;", "[a]![c];"},
                    Case{"\xEF\xBB\xBFlisten 1;", "[listen][1];"}, Case{"a\r\nb\r\n;", "[a][b];"},
                    Case{"a \x01\x02 b;", "[a]![b];"}));

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
