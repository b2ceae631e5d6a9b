#pragma once
// Diagnostics: the sessions that ended, each with its reason (/api/v1/clients?closed=true), and the checks of a stream
// (/api/v1/streams/{id}/explain). The checks are in explain.h.

#include <functional>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"
#include "service/api/output_failures.h"

namespace service::api {

class Statistics;

class Why {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    // All of them must outlive it.
    Why(const Identity& identity, CurrentSnapshot snapshot, const net::SessionTable& sessions,
        const live::Registry& registry, const Statistics& statistics, live::Events& events, const Offers& offers)
        : identity_(identity),
          snapshot_(std::move(snapshot)),
          sessions_(sessions),
          registry_(registry),
          statistics_(statistics),
          failures_(events),
          offers_(offers) {}

    std::vector<Endpoint> endpoints();
    // Newest first; start and count as in the other lists.
    base::Result<void> closed_clients(net::HttpRequest& request, net::HttpResponse& response);

  private:
    std::vector<OutputProblem> output_problems(const live::Stream& stream) const;
    base::Result<void> explain_stream(net::HttpRequest& request, net::HttpResponse& response);

    const Identity& identity_;
    CurrentSnapshot snapshot_;
    const net::SessionTable& sessions_;
    const live::Registry& registry_;
    const Statistics& statistics_;
    OutputFailures failures_;
    const Offers& offers_;
};

}  // namespace service::api
