#pragma once
// The command of an exec: a program, its arguments, and where its output goes, in the notation of a shell: > FILE,
// >FILE, 1> FILE, 1 > FILE, 2> FILE, 2 > FILE, and 2>&1. There is no shell: files are always appended to, and nothing
// else has a meaning. Pure: it reads the words of the configuration, before names of clients are put in.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace service::tools {

struct Command {
    std::vector<std::string> words;
    std::string output_file;  // of stdout; empty: not redirected
    std::string error_file;   // of stderr; empty: not redirected, or to stdout
    bool error_to_output = false;
};

// kConfig: a redirection without a file, or no program.
base::Result<Command> parse_command(std::span<const std::string> words);

}  // namespace service::tools
