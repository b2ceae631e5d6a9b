#pragma once
// Child processes: started without copying this process (no plain fork); their exit is awaited through a pidfd, never
// by a blocking wait.

#include <sys/types.h>

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
    };
    virtual pid_t pid() const = 0;
    virtual base::Result<Exit> wait(Deadline deadline) = 0;
    virtual void send_signal(int signal) = 0;
};

struct ProcessOptions {
    std::vector<std::string> arguments;  // arguments[0] is the program, looked up in PATH
    std::string output_file;             // stdout and stderr go there, appended; empty: /dev/null
};
base::Result<std::unique_ptr<Process>> start_process(const ProcessOptions& options);

}  // namespace runtime
