#pragma once
// From a file's text to a tree of nodes: `name words;` and `name words { nodes }`; `include path...;` is replaced by
// the nodes of the files named. Collects every error and goes on. Does not know the directives; does not open files:
// the reader it is handed does.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/types.h"

namespace config {

struct Node {
    std::string name;
    std::vector<std::string> words;  // what follows the name
    bool is_block = false;
    std::vector<Node> children;
    Place place;    // of the name
    int last_line;  // of the last word: more than place.line hints at a missing semicolon
};

// The whole content of a file.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

struct ParserLimits {
    static constexpr size_t kFileBytes = 1024 * 1024;
    static constexpr int kDepth = 16;  // blocks within blocks, and includes within includes
    static constexpr int kFiles = 200;
    static constexpr size_t kNodes = 50'000;
    static constexpr size_t kWords = 1000;  // of one directive
};

// The nodes of the file and of what it includes. An include's path is taken as it stands (from the working directory),
// and if there is no such file, from the including file's directory. Problems are added to `problems`.
std::vector<Node> parse_file(const std::string& path, const FileReader& read, Problems& problems);

}  // namespace config
