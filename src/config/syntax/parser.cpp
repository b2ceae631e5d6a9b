#include "config/syntax/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/syntax/lexer.h"

namespace config {
namespace {

using Kind = Token::Kind;

class Parser {
  public:
    Parser(const FileReader& read, Problems& problems) : read_(read), problems_(problems) {}

    // Appends the nodes of one file; `depth` counts the blocks and includes around it.
    void file(const std::string& path, const std::string& text, std::vector<Node>& out, int depth);
    base::Result<std::string> read(const std::string& path) const;

  private:
    struct Source {
        const std::string& path;
        Lexer lexer;
    };

    // Parses up to the file's end or, inside a block of this file, its }. Returns which of the two.
    Kind nodes(Source& source, std::vector<Node>& out, int depth, bool in_block);
    // Parses one directive with its end; returns the token that ended it: ; or } of its block, or the token found
    // instead of ;
    Kind directive(Source& source, Node& node, int depth);
    Token words(Source& source, Node& node);
    void block(Source& source, Node& node, int depth);
    void include(const Node& node, std::vector<Node>& out, int depth);
    void include_one(const Node& node, const std::string& path, std::vector<Node>& out, int depth);
    Token next(Source& source);
    void give_up(const Location& location, std::string why);

    const FileReader& read_;
    Problems& problems_;
    std::vector<std::string> open_files_;  // outermost first, to find an include that includes itself
    int files_ = 0;
    size_t node_count_ = 0;
    bool gave_up_ = false;
};

base::Result<std::string> Parser::read(const std::string& path) const {
    std::string text = TRY(read_(path));
    if (text.size() > ParserLimits::kFileBytes)
        return base::fail(base::Code::kLimit, fmt::format("larger than {} bytes", ParserLimits::kFileBytes));
    return text;
}

void Parser::give_up(const Location& location, std::string why) {
    if (!gave_up_) problems_.error(location, std::move(why));
    gave_up_ = true;
}

void Parser::file(const std::string& path, const std::string& text, std::vector<Node>& out, int depth) {
    if (++files_ > ParserLimits::kFiles)
        return give_up({path, 0}, fmt::format("more than {} files", ParserLimits::kFiles));
    open_files_.push_back(path);
    Source source{path, Lexer(text)};
    nodes(source, out, depth, false);
    open_files_.pop_back();
}

Token Parser::next(Source& source) {
    while (true) {
        auto token = source.lexer.next();
        if (token) return *std::move(token);
        problems_.error({source.path, source.lexer.line()}, token.error().text());
    }
}

Kind Parser::nodes(Source& source, std::vector<Node>& out, int depth, bool in_block) {
    while (!gave_up_) {
        Token token = next(source);
        Location location{source.path, token.line};
        if (token.kind == Kind::kEnd) return Kind::kEnd;
        if (token.kind == Kind::kClose) {
            if (in_block) return Kind::kClose;
            problems_.error(location, "a } without its {");
            continue;
        }
        if (token.kind == Kind::kSemicolon) {
            problems_.error(location, "a ; without a directive before it");
            continue;
        }
        if (++node_count_ > ParserLimits::kNodes) {
            give_up(location, fmt::format("more than {} directives", ParserLimits::kNodes));
            break;
        }
        Node node{token.text, {}, false, {}, location, token.line};
        if (token.kind == Kind::kOpen) {
            problems_.error(location, "a { without a name before it");
            block(source, node, depth);
            continue;
        }
        Kind end = directive(source, node, depth);
        if (node.name == "include") {
            include(node, out, depth);
        } else {
            out.push_back(std::move(node));
        }
        if (end == Kind::kEnd) return end;
        if (end == Kind::kClose && in_block) return end;
        if (end == Kind::kClose) problems_.error({source.path, source.lexer.line()}, "a } without its {");
    }
    return Kind::kEnd;
}

Kind Parser::directive(Source& source, Node& node, int depth) {
    Token end = words(source, node);
    if (end.kind == Kind::kOpen) {
        block(source, node, depth);
        return Kind::kSemicolon;
    }
    if (end.kind != Kind::kSemicolon)
        problems_.error(node.location, fmt::format("a ; is missing after '{}'", node.name));
    return end.kind;
}

Token Parser::words(Source& source, Node& node) {
    bool too_many = false;
    while (true) {
        Token token = next(source);
        if (token.kind != Kind::kWord) return token;
        if (token.line > node.last_line) node.line_starts.push_back(node.words.size());
        node.last_line = token.line;
        if (node.words.size() < ParserLimits::kWords) {
            node.words.push_back(std::move(token.text));
        } else if (!too_many) {
            problems_.error(node.location, fmt::format("more than {} words", ParserLimits::kWords));
            too_many = true;
        }
    }
}

void Parser::block(Source& source, Node& node, int depth) {
    node.is_block = true;
    if (depth >= ParserLimits::kDepth)
        return give_up(node.location, fmt::format("blocks more than {} deep", ParserLimits::kDepth));
    if (nodes(source, node.children, depth + 1, true) == Kind::kEnd && !gave_up_)
        problems_.error(node.location, fmt::format("the block '{}' is not closed: a }} is missing", node.name));
}

void Parser::include(const Node& node, std::vector<Node>& out, int depth) {
    if (node.is_block) return problems_.error(node.location, "include takes files, not a block");
    if (node.words.empty()) return problems_.error(node.location, "include without a file");
    if (depth >= ParserLimits::kDepth)
        return give_up(node.location, fmt::format("includes more than {} deep", ParserLimits::kDepth));
    for (const std::string& path : node.words) include_one(node, path, out, depth);
}

void Parser::include_one(const Node& node, const std::string& path, std::vector<Node>& out, int depth) {
    std::string found = path;
    auto text = read(found);
    size_t slash = node.location.file.rfind('/');
    if (!text && text.error().code() == base::Code::kNotFound && !path.starts_with('/') && slash != std::string::npos) {
        found = node.location.file.substr(0, slash + 1) + path;
        auto beside = read(found);
        if (beside || beside.error().code() != base::Code::kNotFound) text = std::move(beside);
    }
    if (!text) return problems_.error(node.location, fmt::format("include {}: {}", path, text.error().text()));
    if (std::find(open_files_.begin(), open_files_.end(), found) != open_files_.end())
        return problems_.error(node.location, fmt::format("include {}: the file includes itself", path));
    file(found, *text, out, depth + 1);
}

}  // namespace

std::vector<Node> parse_file(const std::string& path, const FileReader& read, Problems& problems) {
    std::vector<Node> out;
    Parser parser(read, problems);
    auto text = parser.read(path);
    if (!text) {
        problems.error({path, 0}, text.error().text());
        return out;
    }
    parser.file(path, *text, out, 0);
    return out;
}

}  // namespace config
