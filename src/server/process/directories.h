#pragma once
// Directories of the server's own files and of the services' outputs.

#include <string>

#include "base/result.h"

namespace server {

// Creates the directory of a file, and the directories above it, if they do not exist.
base::Result<void> make_directory_of(const std::string& path);

// The directory that must be writable so that a file of that name, with variables in [], can be created: the nearest
// one that exists. If a file is where a directory should be, the name of that file.
std::string existing_directory_of(const std::string& name);

// Why the process cannot create such a file: "uid 998 cannot write to the directory /srv". Empty: it can.
std::string unwritable_reason(const std::string& name);

}  // namespace server
