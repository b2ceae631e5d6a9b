#pragma once
// GET streams/{id}/explain: the checks of a stream (stream_diagnosis.h), of what is known of it and of its outputs.

#include <vector>

#include "service/api/diagnosis/output_failures.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Statistics;

class DiagnosisEndpoint {
  public:
    // Both must outlive it.
    DiagnosisEndpoint(const Context& context, const Statistics& statistics)
        : context_(context), statistics_(statistics), failures_(context.events) {}

    std::vector<Endpoint> endpoints();

  private:
    std::vector<OutputProblem> output_problems(const live::Stream& stream) const;
    base::Result<void> explain_stream(Request& request, Response& response);

    const Context& context_;
    const Statistics& statistics_;
    OutputFailures failures_;
};

}  // namespace service::api
