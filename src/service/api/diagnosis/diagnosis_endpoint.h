#pragma once
// GET streams/{id}/explain: the checks of a stream (stream_diagnosis.h), of what is known of it and of its outputs.

#include <functional>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "service/api/diagnosis/output_failures.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Statistics;

class DiagnosisEndpoint {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    // All of them must outlive it.
    DiagnosisEndpoint(const Identity& identity, CurrentSnapshot snapshot, const live::Registry& registry,
                      const Statistics& statistics, live::Events& events, const Offers& offers)
        : identity_(identity),
          snapshot_(std::move(snapshot)),
          registry_(registry),
          statistics_(statistics),
          failures_(events),
          offers_(offers) {}

    std::vector<Endpoint> endpoints();

  private:
    std::vector<OutputProblem> output_problems(const live::Stream& stream) const;
    base::Result<void> explain_stream(net::HttpRequest& request, net::HttpResponse& response);

    const Identity& identity_;
    CurrentSnapshot snapshot_;
    const live::Registry& registry_;
    const Statistics& statistics_;
    OutputFailures failures_;
    const Offers& offers_;
};

}  // namespace service::api
