#pragma once
// What the machine and this process do: summaries, rusages, self_proc_stats, system_proc_stats, meminfos. A worker
// reads /proc every few seconds, so no request waits for it, and rates are those of the time between two looks.

#include <functional>
#include <string>
#include <vector>

#include "net/sessions/session.h"
#include "runtime/diagnose/machine.h"
#include "runtime/loop/coroutine.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"

namespace service::api {

class System {
  public:
    // Both outlive it.
    System(const Identity& identity, net::SessionTable& sessions) : identity_(identity), sessions_(sessions) {}
    ~System() { stop(); }

    void start();  // yields
    void stop();
    std::vector<Endpoint> endpoints();
    // data of /api/v1/summaries.
    Json summaries() const;

  private:
    using Request = net::HttpRequest;
    using Response = net::HttpResponse;
    void look();
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
    // Asked for once: under load the kernel may take milliseconds for them.
    std::string command_line_;
    std::string working_directory_;
    runtime::Machine before_;
    runtime::Machine now_;
    runtime::Task task_;
};

}  // namespace service::api
