#pragma once
// Signals as events that a coroutine waits for. SIGPIPE is ignored by runtime::init().

#include <initializer_list>
#include <memory>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

class Signals {
  public:
    virtual ~Signals() = default;
    virtual base::Result<int> next(Deadline deadline) = 0;  // the signal's number
    // Who sent the last one.
    struct Sender {
        int pid = 0;  // 0: the kernel, or a process of another namespace
        int uid = 0;
    };
    virtual Sender sender() const { return {}; }
};

// Blocks them for the process and delivers them here instead. Call before threads are started.
base::Result<std::unique_ptr<Signals>> watch_signals(std::initializer_list<int> signals);

}  // namespace runtime
