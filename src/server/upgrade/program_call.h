#pragma once
// ProgramCall: how this process was started, so that another one of the same server can be: by the path at which a new
// program may lie meanwhile, with the same arguments, directory and environment.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace server {

struct ProgramCall {
    std::string program{};    // its path, absolute where it could be found
    std::string directory{};  // in which the process was started
    std::vector<std::string> arguments{};

    // To be called before the working directory is changed.
    static ProgramCall of(int argc, const char* const* argv);

    // Starts it, with this process's standard streams; no other descriptor is open there but the channel. variables:
    // "NAME=VALUE", beside the environment of this process. The caller reaps it. Blocks until the program is loaded.
    base::Result<pid_t> start(int channel, const std::vector<std::string>& variables) const;
};

// The channel to the process that has started this one as its successor, or -1. The variable is removed.
int take_channel_of_environment();

}  // namespace server
