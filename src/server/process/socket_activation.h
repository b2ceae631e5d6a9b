#pragma once
// Sockets that a service manager has opened for this process, by the protocol of sd_listen_fds(3): LISTEN_FDS is their
// number, they begin at descriptor 3, and LISTEN_PID is the process that they are for. Their names (LISTEN_FDNAMES) are
// ignored: a socket is used where the configuration has its address (runtime/socket/shared_sockets.h). The server then
// needs no permission for ports below 1024, and may be started by its first client.

#include <string>
#include <vector>

#include "base/result.h"

namespace server {

class SocketActivation {
  public:
    static constexpr int kFirst = 3, kMaxSockets = 1'000;

    // Values of environment variables; null: not set.
    struct Environment {
        const char* listen_pid = nullptr;
        const char* listen_fds = nullptr;
    };

    // Reads the process's environment and removes the variables from it: the sockets are not for child processes.
    static Environment take_environment();
    // The descriptors that are for this process; none without the variables. kConfig: they are unusable.
    static base::Result<std::vector<int>> descriptors(const Environment& environment);
};

// At the start, before a daemon leaves the process that the sockets are for: makes them the ones that the server's
// addresses are bound to. What cannot be used is a line of the result.
std::vector<std::string> take_activated_sockets();

}  // namespace server
