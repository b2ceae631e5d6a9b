#pragma once
// The server's name in the API and in hooks. If none is configured, one is generated and kept in a file beside the pid
// file (srs.pid: srs.id), so that it is the same after a restart.

#include <string>
#include <string_view>

namespace server {

std::string server_id_path(std::string_view pid_path);

// configured: the configured name, may be empty. Returns the name in force and writes it to the file; if that fails,
// the name is valid for this run only.
std::string decide_server_id(const std::string& configured, const std::string& pid_path);

}  // namespace server
