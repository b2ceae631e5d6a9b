#pragma once
// The state of the machine and this process: summaries, rusages, self_proc_stats, system_proc_stats, meminfos. A worker
// thread reads /proc every few seconds, so no request waits for it; rates are computed between two reads.

#include <string>
#include <vector>

#include "base/json.h"
#include "runtime/diagnose/machine.h"
#include "runtime/loop/coroutine.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class System {
  public:
    // It must outlive this.
    explicit System(const Context& context) : context_(context) {}
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
    void sample();
    // Answers with a value as data.
    template <Json (System::*kMake)() const>
    base::Result<void> send(Request&, Response& response) {
        return send_data(response, context_.identity, (this->*kMake)());
    }
    Json self_json() const;
    Json system_json() const;
    Json rusages() const;
    Json self_proc_stats() const;
    Json system_proc_stats() const;
    Json meminfos() const;
    double process_percent() const;
    double machine_percent() const;

    const Context& context_;
    // Read only once: under load the kernel may take milliseconds for them.
    std::string command_line_;
    std::string working_directory_;
    runtime::Machine before_;
    runtime::Machine now_;
    runtime::Task task_;
};

}  // namespace service::api
