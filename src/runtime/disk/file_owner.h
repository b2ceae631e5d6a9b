#pragma once
// The stream that a file belongs to, stored with the file as the extended attribute user.srs.stream. It survives a
// restart, a rename and a move within the file system, and is found by whatever path the file is opened. Not every file
// system has such attributes, and a copy does not keep them: a reader must cope with a missing one. Every call blocks:
// call it on a worker.

#include <string>

namespace runtime {

// Does nothing when the owner is empty or the file system has no attributes.
void set_file_owner(int fd, const std::string& owner);
void set_file_owner(const std::string& path, const std::string& owner);
// Empty: the file has no such attribute.
std::string file_owner(int fd);

}  // namespace runtime
