#pragma once
// Makes a Snapshot of a configuration file, of environment variables, or of both: the variables win. Pure: the file
// reader and the environment are handed in. Every problem is collected; with an error among them there is no snapshot.

#include <string>
#include <vector>

#include "config/parser.h"
#include "config/snapshot.h"

namespace config {

struct LoadInput {
    // Empty: from the environment alone, with a __defaultVhost__; unless it says otherwise the server stays in the
    // foreground and logs to the console, as containers want it.
    std::string path;
    FileReader read;
    std::vector<std::string> environment;  // "NAME=value"; only SRS_ names are looked at
    std::string server_id{};               // what server_id is where it is not given
};

struct Loaded {
    SnapshotPtr snapshot;  // null when there is an error
    Problems problems;
};

Loaded load(const LoadInput& input);

}  // namespace config
