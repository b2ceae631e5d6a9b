#pragma once
// Child processes: started without a shell and without copying this process (vfork); their exit is awaited through a
// pidfd, never by a blocking wait. The kernel kills a child when this process ends, also by SIGKILL. What a child
// starts itself is in its process group: it is signalled and killed with it, but outlives a SIGKILL of this process.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

class Process {
  public:
    virtual ~Process() = default;  // kills (SIGKILL) and reaps a process that still runs
    struct Exit {
        int code = 0;  // when signal is 0
        int signal = 0;
        int64_t cpu_us = 0;  // processor time, of it and of the children that it waited for
    };
    virtual pid_t pid() const = 0;
    virtual base::Result<Exit> wait(Deadline deadline) = 0;
    virtual void send_signal(int signal) = 0;  // to its process group
};

struct ProcessOptions {
    std::vector<std::string> arguments;  // arguments[0] is the program, looked up in PATH
    std::string output_file;             // stdout and stderr go there, appended; empty: /dev/null
    std::string error_file{};            // stderr, if it has another file
    // Variables of the environment whose names begin so are not passed on: they may hold secrets.
    std::vector<std::string> hidden_environment{};
};
// kSystem with the errno of what failed, ENOENT without the program. A process that starts after the deadline is
// killed.
base::Result<std::unique_ptr<Process>> start_process(const ProcessOptions& options, Deadline deadline);
// The path of a program that may be run: itself if it has a '/', otherwise of the first directory of PATH that has it.
// Empty: there is none. Blocks as a look at a file does.
std::string find_program(const std::string& name);

}  // namespace runtime
