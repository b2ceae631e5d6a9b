#pragma once
// Heartbeat: tells another HTTP server every so often that this one lives. One report at a time, by a coroutine of its
// own: who does not answer holds up nothing, and the log tells when that changes. See doc/forward.md.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace service::heartbeat {

class Service {
  public:
    // Posts JSON; an error unless the answer's status is 200. Yields.
    using Post =
        std::function<base::Result<std::string>(const std::string& url, const std::string& body, runtime::Deadline)>;
    // What /api/v1/summaries has as its data, JSON. Does not yield.
    using Summaries = std::function<std::string()>;

    Service(config::SnapshotPtr snapshot, Post post, Summaries summaries);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop();
    void reload(const config::SnapshotPtr& next);

    uint64_t sent() const { return sent_; }
    uint64_t failed() const { return failed_; }

  private:
    void beat();
    void report();

    config::SnapshotPtr snapshot_;
    Post post_;
    Summaries summaries_;
    std::string last_error_;  // what the log was told last of what does not work
    bool reported_ = false;
    uint64_t sent_ = 0;
    uint64_t failed_ = 0;
    runtime::Event changed_{"the next heartbeat"};
    runtime::Task task_;
};

}  // namespace service::heartbeat
