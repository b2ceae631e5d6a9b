#pragma once
// Directories of the server's own files and of the services' outputs.

#include <string>

#include "base/result.h"

namespace server {

// Creates the directory of a file, and the directories above it, if they do not exist.
base::Result<void> make_directory_of(const std::string& path);

// The directory that must be writable so that a file of that name, with variables in [], can be created: the nearest
// one that exists.
std::string existing_directory_of(const std::string& name);

}  // namespace server
