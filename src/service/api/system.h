#pragma once
// The state of the machine and this process: summaries, rusages, self_proc_stats, system_proc_stats, meminfos. A worker
// thread reads /proc every few seconds, so no request waits for it; rates are computed between two reads.

#include <functional>
#include <string>
#include <vector>

#include "net/sessions/session.h"
#include "runtime/diagnose/machine.h"
#include "runtime/loop/coroutine.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class System {
  public:
    // Both must outlive it.
    System(const Identity& identity, net::SessionTable& sessions) : identity_(identity), sessions_(sessions) {}
    ~System() { stop(); }

    void start();  // yields
    void stop();
    std::vector<Endpoint> endpoints();
    // The data field of /api/v1/summaries.
    Json summaries() const;
    // As read last, a few seconds ago at most; zeros before start().
    struct Usage {
        double cpu = 0;  // fraction of all processors
        int processors = 0;
        uint64_t memory_bytes = 0;
        uint64_t memory_used_bytes = 0;
        double load_1m = 0;
        uint64_t process_bytes = 0;  // resident
    };
    Usage usage() const;

  private:
    using Request = net::HttpRequest;
    using Response = net::HttpResponse;
    void sample();
    base::Result<void> send(Response& response, Json data) const;
    Json self_json() const;
    Json system_json() const;
    Json rusages() const;
    Json self_proc_stats() const;
    Json system_proc_stats() const;
    Json meminfos() const;
    double process_percent() const;
    double machine_percent() const;

    const Identity& identity_;
    net::SessionTable& sessions_;
    // Read only once: under load the kernel may take milliseconds for them.
    std::string command_line_;
    std::string working_directory_;
    runtime::Machine before_;
    runtime::Machine now_;
    runtime::Task task_;
};

}  // namespace service::api
