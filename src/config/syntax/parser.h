#pragma once
// Parses a file's text into a tree of nodes: `name words;` and `name words { nodes }`; `include path...;` is replaced
// by the nodes of the files named. Collects all errors and continues. Does not know the directives, and does not open
// files: it calls the given reader.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/types.h"

namespace config {

struct Node {
    std::string name;
    std::vector<std::string> words;  // the words after the name
    bool is_block = false;
    std::vector<Node> children;
    Location location;  // position of the name
    int last_line;      // line of the last word: if it is greater than location.line, a semicolon may be missing
    std::vector<size_t> line_starts{};  // of the words, those that begin a later line
};

// Returns the whole content of a file.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

struct ParserLimits {
    static constexpr size_t kFileBytes = 1024 * 1024;
    static constexpr int kDepth = 16;  // nesting depth of blocks, and of includes
    static constexpr int kFiles = 200;
    static constexpr size_t kNodes = 50'000;
    static constexpr size_t kWords = 1000;  // of one directive
};

// The nodes of the file and of what it includes. An include's path is tried as written (relative to the working
// directory), and if there is no such file, relative to the including file's directory. Problems are added to
// `problems`.
std::vector<Node> parse_file(const std::string& path, const FileReader& read, Problems& problems);

}  // namespace config
