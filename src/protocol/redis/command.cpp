#include "protocol/redis/command.h"

#include <fmt/format.h>

#include <iterator>

namespace redis {

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    fmt::format_to(std::back_inserter(out), "*{}\r\n", words.size());
    for (const std::string_view word : words)
        fmt::format_to(std::back_inserter(out), "${}\r\n{}\r\n", word.size(), word);
}

std::string command(std::initializer_list<std::string_view> words) {
    std::string out;
    append_command(out, words);
    return out;
}

}  // namespace redis
