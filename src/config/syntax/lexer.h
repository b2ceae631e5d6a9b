#pragma once
// Splits a configuration file into words and punctuation. Syntax: words are separated by white space; `;`, `{` and `}`
// end a word; `#` where a word could begin starts a comment to the end of the line; a word that begins with ' or "
// extends to the same quote on the same line, with \' \" \\ \n \r \t inside (any other backslash is kept). Does not
// know the meaning of the words.

#include <string>
#include <string_view>

#include "base/result.h"

namespace config {

struct Token {
    enum class Kind : uint8_t { kWord, kSemicolon, kOpen, kClose, kEnd };
    Kind kind = Kind::kEnd;
    std::string text;  // of a word, with quotes and escapes resolved
    int line = 0;      // from 1
};

class Lexer {
  public:
    static constexpr size_t kLongestWord = 16 * 1024;

    // The text must outlive the lexer.
    explicit Lexer(std::string_view text);

    // Errors are a bad quote, a control character and a word that is too long; line() returns the line. The lexer has
    // skipped the faulty part and can continue.
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
