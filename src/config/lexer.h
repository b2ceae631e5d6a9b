#pragma once
// Splits a configuration file into words and marks. Syntax: words are separated by white space; `;`, `{` and `}` end a
// word; `#` where a word could begin starts a comment to the end of the line; a word that begins with ' or " runs to
// the same quote on the same line, with \' \" \\ \n \r \t inside (another backslash stays as it is). Does not know what
// the words mean.

#include <string>
#include <string_view>

#include "base/result.h"

namespace config {

struct Token {
    enum class Kind : uint8_t { kWord, kSemicolon, kOpen, kClose, kEnd };
    Kind kind = Kind::kEnd;
    std::string text;  // of a word, quotes and escapes resolved
    int line = 0;      // from 1
};

class Lexer {
  public:
    static constexpr size_t kLongestWord = 16 * 1024;

    // The text must outlive the lexer.
    explicit Lexer(std::string_view text);

    // Errors are a bad quote, a control character and a word that is too long; line() says where. The lexer has moved
    // past the fault and can go on.
    base::Result<Token> next();
    int line() const { return line_; }

  private:
    void skip_space();
    base::Result<Token> quoted_word();
    base::Result<Token> plain_word();
    bool at_end() const { return at_ >= text_.size(); }

    std::string_view text_;
    size_t at_ = 0;
    int line_ = 1;
};

}  // namespace config
