#pragma once
// asprocess: the server ends, as by SIGTERM, when the process that started it has ended.

#include <unistd.h>

#include <csignal>

#include "base/log.h"
#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "server/module.h"

namespace server {

class ParentWatch : public WithoutClients {
  public:
    explicit ParentWatch(const config::SnapshotPtr& snapshot) : wanted_(snapshot->global.asprocess) {}

    base::Result<void> start() {
        if (!wanted_) return {};
        task_ = runtime::spawn("parent-watch", [parent = getppid()] {
            constexpr int64_t kLookMs = 500;
            while (runtime::sleep_ms(kLookMs)) {
                if (getppid() == parent) continue;
                base::log::trace("asprocess: the parent process {} has ended", parent);
                static_cast<void>(kill(getpid(), SIGTERM));
                return;
            }
        });
        return {};
    }
    void stop() {
        if (task_) task_.cancel_and_join();
    }

  private:
    bool wanted_;
    runtime::Task task_;
};

}  // namespace server
