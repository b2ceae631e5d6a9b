#include "config/syntax/parser.h"

#include <gtest/gtest.h>

#include "config/test_util.h"

namespace config {
namespace {

std::string shown(const std::vector<Node>& nodes) {
    std::string out;
    for (const Node& node : nodes) {
        out += node.name;
        for (const std::string& word : node.words) out += " " + word;
        out += node.is_block ? "{" + shown(node.children) + "}" : ";";
    }
    return out;
}

struct ParserCase {
    const char* text;
    const char* nodes;
    const char* problems;
};

class ParserTest : public testing::TestWithParam<ParserCase> {};

TEST_P(ParserTest, Parses) {
    Problems problems;
    auto nodes = parse_file("t.conf", reader_of({{"t.conf", GetParam().text}}), problems);
    EXPECT_EQ(shown(nodes), GetParam().nodes);
    EXPECT_EQ(described(problems), GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(
    All, ParserTest,
    testing::Values(
        ParserCase{"", "", ""}, ParserCase{"a 1; b 2 3;", "a 1;b 2 3;", ""},
        ParserCase{"vhost x { play { a on; } } b;", "vhost x{play{a on;}}b;", ""}, ParserCase{"a {}", "a{}", ""},
        ParserCase{"a 1", "a 1;", "t.conf:1: error: a ; is missing after 'a'\n"},
        ParserCase{"x { a 1 }\nb 2;", "x{a 1;}b 2;", "t.conf:1: error: a ; is missing after 'a'\n"},
        ParserCase{"a 1; }\nb 2;", "a 1;b 2;", "t.conf:1: error: a } without its {\n"},
        ParserCase{"a 1 }\nb 2;", "a 1;b 2;",
                   "t.conf:1: error: a ; is missing after 'a'\nt.conf:1: error: a } without its {\n"},
        ParserCase{";;a;", "a;",
                   "t.conf:1: error: a ; without a directive before it\nt.conf:1: error: a ; without a directive "
                   "before it\n"},
        ParserCase{"\nx {\n a 1;\n", "x{a 1;}", "t.conf:2: error: the block 'x' is not closed: a } is missing\n"},
        ParserCase{"{ a 1; } b 2;", "b 2;", "t.conf:1: error: a { without a name before it\n"},
        ParserCase{"a 'x\nb 2;", "a b 2;", "t.conf:1: error: the quote ' is not closed on its line\n"},
        ParserCase{"include;", "", "t.conf:1: error: include without a file\n"},
        ParserCase{"include x { }", "", "t.conf:1: error: include takes files, not a block\n"},
        ParserCase{"include y;", "", "t.conf:1: error: include y: no such file\n"}));

TEST(Parser, RemembersWhereADirectiveEnds) {
    Problems problems;
    auto nodes = parse_file("t.conf", reader_of({{"t.conf", "\na 1\n 2;"}}), problems);
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].location.text(), "t.conf:2");
    EXPECT_EQ(nodes[0].last_line, 3);
}

TEST(Parser, Includes) {
    Files files = {{"conf/a.conf", "x 1; vhost v { include conf/b.conf; } include c.conf conf/d.conf;"},
                   {"conf/b.conf", "play { }"},
                   {"conf/c.conf", "c 1;\nc 2;"},
                   {"conf/d.conf", "d 1;"}};
    Problems problems;
    auto nodes = parse_file("conf/a.conf", reader_of(files), problems);
    EXPECT_EQ(shown(nodes), "x 1;vhost v{play{}}c 1;c 2;d 1;");
    EXPECT_EQ(described(problems), "");
    EXPECT_EQ(nodes[3].location.text(), "conf/c.conf:2");
}

TEST(Parser, AnIncludedFileCannotCloseABlockOfItsParent) {
    Files files = {{"a", "x { include b; y 2; }"}, {"b", "y 1; } z 1;"}};
    Problems problems;
    auto nodes = parse_file("a", reader_of(files), problems);
    EXPECT_EQ(shown(nodes), "x{y 1;z 1;y 2;}");
    EXPECT_EQ(described(problems), "b:1: error: a } without its {\n");
}

TEST(Parser, FindsIncludeCycles) {
    Files files = {{"a", "include b;"}, {"b", "x 1;\ninclude a;"}};
    Problems problems;
    auto nodes = parse_file("a", reader_of(files), problems);
    EXPECT_EQ(shown(nodes), "x 1;");
    EXPECT_EQ(described(problems), "b:2: error: include a: the file includes itself\n");
}

std::string only_problem(const std::string& text) {
    Problems problems;
    parse_file("t", reader_of({{"t", text}}), problems);
    EXPECT_EQ(problems.errors(), 1u) << described(problems).substr(0, 500);
    return problems.all().empty() ? "" : problems.all()[0].text;
}

TEST(Parser, HasBounds) {
    std::string deep, wide = "a", many, big(ParserLimits::kFileBytes, ' ');
    for (int i = 0; i < 10000; ++i) deep += "a {";
    for (size_t i = 0; i < ParserLimits::kWords; ++i) wide += " b";
    for (size_t i = 0; i < ParserLimits::kNodes; ++i) many += "a;";
    EXPECT_EQ(only_problem(deep), "blocks more than 16 deep");
    EXPECT_EQ(only_problem(wide + " c d;"), "more than 1000 words");
    EXPECT_EQ(only_problem(many + "a;"), "more than 50000 directives");
    EXPECT_EQ(only_problem(big + "a;"), "larger than 1048576 bytes");
}

TEST(Parser, BoundsTheNumberOfFiles) {
    // Each file names the next one twice: without a bound 2^14 files would be read.
    Files files;
    for (int i = 0; i < 14; ++i) {
        std::string next = "f" + std::to_string(i + 1);
        files["f" + std::to_string(i)] = "include " + next + " " + next + ";";
    }
    files["f14"] = "a;";
    Problems problems;
    parse_file("f0", reader_of(files), problems);
    EXPECT_EQ(problems.errors(), 1u);
    EXPECT_EQ(problems.all()[0].text, "more than 200 files");
}

}  // namespace
}  // namespace config
