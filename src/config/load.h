#pragma once
// Builds a Snapshot from a configuration file, from environment variables, or from both: the variables take precedence.
// Pure: the file reader and the environment are passed in. All problems are collected; with an error among them there
// is no snapshot.

#include <string>
#include <vector>

#include "config/snapshot.h"
#include "config/syntax/parser.h"

namespace config {

struct LoadInput {
    // Empty: only the environment is used, with a __defaultVhost__; by default the server then stays in the foreground
    // and logs to the console, as in containers.
    std::string path;
    FileReader read;
    std::vector<std::string> environment;  // "NAME=value"; only SRS_ names are used
    std::string server_id{};               // the value of server_id if it is not configured
};

struct Loaded {
    SnapshotPtr snapshot;  // null when there is an error
    Problems problems;
};

Loaded load(const LoadInput& input);

}  // namespace config
