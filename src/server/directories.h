#pragma once
// Creation of directories for the server's own files.

#include <string>

#include "base/result.h"

namespace server {

// Creates the directory of a file, and the directories above it, if they do not exist.
base::Result<void> make_directory_of(const std::string& path);

}  // namespace server
