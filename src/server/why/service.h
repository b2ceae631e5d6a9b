#pragma once
// Why: the endpoint GET /api/v1/why?url=, which says why a URL cannot be played or published here. It is privileged, as
// what reveals configuration is. It connects to this server's own listeners alone, whatever the URL says, and resolves
// no names; one call at a time plays.

#include <string>

#include "config/snapshot.h"
#include "net/http/api_endpoint.h"
#include "server/module.h"
#include "server/why/play.h"
#include "server/why/report.h"
#include "service/shared_parts.h"

namespace server::why {

class Service : public WithoutClients {
  public:
    // Adds the endpoint. The parts must outlive it.
    Service(config::SnapshotPtr snapshot, const service::SharedParts& parts);

    base::Result<void> start() { return {}; }
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }

  private:
    base::Result<void> handle(net::HttpRequest& request, net::HttpResponse& response);
    // Yields.
    base::Result<Diagnosis> diagnose(const net::HttpRequest& request);
    Played play_alone(const Facts& facts, const Findings& findings, const net::HttpRequest& request);

    config::SnapshotPtr snapshot_;
    const service::SharedParts& parts_;
    bool is_playing_ = false;
};

// The same by the configuration alone, for the command. Blocks on files.
Diagnosis diagnose_configuration(const config::Snapshot& snapshot, const std::string& url, bool publishes,
                                 const std::string& ip, const std::string& page);

}  // namespace server::why
