#pragma once
// Heartbeat: reports at intervals to another HTTP server that this one is alive. One report at a time, in its own
// coroutine: a server that does not answer delays nothing. Changes between success and failure are logged. See
// doc/forward.md.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace service::heartbeat {

class Service {
  public:
    // Posts JSON with this Authorization field, if it is not empty; an error unless the answer's status is 200. Yields.
    using Post = std::function<base::Result<std::string>(const std::string& url, const std::string& body,
                                                         const std::string& authorization, runtime::Deadline)>;
    // The data field of /api/v1/summaries, as JSON. Does not yield.
    using Summaries = std::function<std::string()>;

    // service_id: of this run.
    Service(config::SnapshotPtr snapshot, Post post, Summaries summaries, std::string service_id);
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
    const std::string service_id_;
    runtime::CurrentError error_;
    bool reported_ = false;  // the outcome of the present configuration
    uint64_t sent_ = 0;
    uint64_t failed_ = 0;
    runtime::Event changed_{"the next heartbeat"};
    runtime::Task task_;
};

}  // namespace service::heartbeat
