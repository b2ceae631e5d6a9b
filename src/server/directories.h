#pragma once
// Directories that the server makes for its own files.

#include <string>

#include "base/result.h"

namespace server {

// The directory that a file of that name lies in, and those above it, where they are not there yet.
base::Result<void> make_directory_of(const std::string& path);

}  // namespace server
