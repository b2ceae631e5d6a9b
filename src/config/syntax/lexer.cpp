#include "config/syntax/lexer.h"

#include <fmt/format.h>

namespace config {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_mark(char c) { return c == ';' || c == '{' || c == '}'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

char unescaped(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case '"':
        case '\'':
        case '\\':
            return c;
        default:
            return 0;
    }
}

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

void Lexer::skip_space() {
    while (!at_end()) {
        if (text_[at_] == '#') {
            size_t end = text_.find('\n', at_);
            at_ = end == std::string_view::npos ? text_.size() : end;
        } else if (is_space(text_[at_])) {
            if (text_[at_] == '\n') ++line_;
            ++at_;
        } else {
            return;
        }
    }
}

base::Result<Token> Lexer::next() {
    skip_space();
    if (at_end()) return Token{Token::Kind::kEnd, "", line_};
    switch (text_[at_]) {
        case ';':
            ++at_;
            return Token{Token::Kind::kSemicolon, ";", line_};
        case '{':
            ++at_;
            return Token{Token::Kind::kOpen, "{", line_};
        case '}':
            ++at_;
            return Token{Token::Kind::kClose, "}", line_};
        case '"':
        case '\'':
            return quoted_word();
        default:
            return plain_word();
    }
}

base::Result<Token> Lexer::quoted_word() {
    const char quote = text_[at_++];
    Token token{Token::Kind::kWord, "", line_};
    while (true) {
        if (at_end() || text_[at_] == '\n')
            return base::fail(base::Code::kConfig, fmt::format("the quote {} is not closed on its line", quote));
        char c = text_[at_++];
        if (c == quote) break;
        if (c == '\\' && !at_end() && unescaped(text_[at_]) != 0) c = unescaped(text_[at_++]);
        if (token.text.size() < kLongestWord + 1) token.text += c;
    }
    if (!at_end() && !is_space(text_[at_]) && !is_mark(text_[at_]))
        return base::fail(base::Code::kConfig, fmt::format("a space or ; is missing after the closing {}", quote));
    if (token.text.size() > kLongestWord)
        return base::fail(base::Code::kLimit, fmt::format("a word longer than {} bytes", kLongestWord));
    return token;
}

base::Result<Token> Lexer::plain_word() {
    size_t begin = at_;
    bool control = false;
    while (!at_end() && !is_space(text_[at_]) && !is_mark(text_[at_])) control |= is_control(text_[at_++]);
    std::string_view word = text_.substr(begin, at_ - begin);
    if (word.size() > kLongestWord)
        return base::fail(base::Code::kLimit, fmt::format("a word longer than {} bytes", kLongestWord));
    if (control) return base::fail(base::Code::kConfig, "a control character: is this a text file?");
    return Token{Token::Kind::kWord, std::string(word), line_};
}

}  // namespace config
