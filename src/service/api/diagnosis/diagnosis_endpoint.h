#pragma once
// GET streams/{id}/explain: the checks of a stream (stream_diagnosis.h); GET incidents: what has happened to streams
// (incidents.h).

#include <vector>

#include "service/api/diagnosis/incidents.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Earlier;
class Statistics;
class Verdicts;

class DiagnosisEndpoint {
  public:
    // All of them must outlive it.
    DiagnosisEndpoint(const Context& context, Earlier& earlier, const Statistics& statistics, const Verdicts& verdicts)
        : context_(context),
          earlier_(earlier),
          statistics_(statistics),
          verdicts_(verdicts),
          incidents_(context.registry, context.events, context.offers) {}

    std::vector<Endpoint> endpoints();
    void other_process_changed(const live::StreamKey& key) { incidents_.other_process_changed(key); }
    // Keeps the incidents of the process that this one has replaced, which ends. Yields.
    void read_earlier();

  private:
    base::Result<void> explain_stream(Request& request, Response& response);
    base::Result<void> list_incidents(Request& request, Response& response);

    const Context& context_;
    Earlier& earlier_;
    const Statistics& statistics_;
    const Verdicts& verdicts_;
    Incidents incidents_;
};

}  // namespace service::api
