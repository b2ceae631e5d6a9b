#pragma once
// The server's name in the API and in hooks. Where none is configured one is made up and kept in a file beside the pid
// file (srs.pid: srs.id), so that it is the same after a restart.

#include <string>
#include <string_view>

namespace server {

std::string server_id_path(std::string_view pid_path);

// configured: what the configuration says, may be empty. What is in force is written to the file; where that cannot be
// done the name is good for this run only.
std::string decide_server_id(const std::string& configured, const std::string& pid_path);

}  // namespace server
