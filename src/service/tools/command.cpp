#include "service/tools/command.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace service::tools {

using base::Code;
using base::fail;
using base::Result;

namespace {

// A redirection at the beginning of the words.
struct Redirection {
    bool of_errors = false;
    std::string_view target;  // may follow in the next word: then empty
    size_t words = 1;
};

std::optional<Redirection> redirection(std::span<const std::string> words) {
    std::string_view word = words[0];
    Redirection found;
    if (word == "1" || word == "2") {
        // "1 > FILE" is a redirection; "1" alone is an argument.
        if (words.size() < 2 || !words[1].starts_with('>')) return std::nullopt;
        found.of_errors = word == "2";
        found.words = 2;
        word = words[1];
    } else if (word.starts_with("1>") || word.starts_with("2>")) {
        found.of_errors = word.front() == '2';
        word.remove_prefix(1);
    }
    if (!word.starts_with('>')) return std::nullopt;
    word.remove_prefix(word.starts_with(">>") ? 2 : 1);
    found.target = word;
    return found;
}

}  // namespace

Result<Command> parse_command(std::span<const std::string> words) {
    Command command;
    while (!words.empty()) {
        const std::optional<Redirection> found = redirection(words);
        if (!found) {
            command.words.push_back(words[0]);
            words = words.subspan(1);
            continue;
        }
        const std::string shown = words[found->words - 1];
        words = words.subspan(found->words);
        std::string target(found->target);
        if (target.empty() && !words.empty()) {
            target = words[0];
            words = words.subspan(1);
        }
        if (target.empty()) return fail(Code::kConfig, fmt::format("'{}' needs a file", shown));
        if (target == "&1" && found->of_errors) {
            command.error_to_output = true;
            command.error_file.clear();
        } else if (target.starts_with('&')) {
            return fail(Code::kConfig, fmt::format("'{}': only 2>&1 is possible", shown));
        } else if (found->of_errors) {
            command.error_file = target;
            command.error_to_output = false;
        } else {
            command.output_file = target;
        }
    }
    if (command.words.empty()) return fail(Code::kConfig, "no program is given");
    return command;
}

}  // namespace service::tools
