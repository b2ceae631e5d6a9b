#pragma once
// The stream that a file is of, kept with the file itself as the extended attribute user.srs.stream: it survives a
// restart, a rename and a move within the file system, and holds by whatever path the file is found. Not every file
// system has such attributes, and a copy does not take them along: who reads it does without where there is none.
// Every call blocks: on a worker.

#include <string>

namespace runtime {

// Does nothing where the owner is empty or the file system has no attributes.
void set_file_owner(int fd, const std::string& owner);
void set_file_owner(const std::string& path, const std::string& owner);
// Empty: it says nothing.
std::string file_owner(int fd);

}  // namespace runtime
