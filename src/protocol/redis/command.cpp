#include "protocol/redis/command.h"

#include "base/text.h"

namespace redis {

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    base::append_format(out, "*{}\r\n", words.size());
    for (const std::string_view word : words) base::append_format(out, "${}\r\n{}\r\n", word.size(), word);
}

std::string command(std::initializer_list<std::string_view> words) {
    std::string out;
    append_command(out, words);
    return out;
}

}  // namespace redis
