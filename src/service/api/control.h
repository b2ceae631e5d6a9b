#pragma once
// Endpoints that change or reveal state: kicking a client, starting and stopping a recording, and the configuration in
// force with the origin of each value. All of them are privileged.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Statistics;

class Control {
  public:
    // Both must outlive it. Without a recorder among the offers, requests for recordings are answered with 501.
    Control(const Context& context, const Statistics& statistics) : context_(context), statistics_(statistics) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> kick(Request& request, Response& response);
    base::Result<void> start_recording(Request& request, Response& response);
    base::Result<void> stop_recording(Request& request, Response& response);
    base::Result<void> recording(Request& request, Response& response);
    base::Result<void> configuration(Request& request, Response& response);
    base::Result<bool> stream_of(Request& request, Response& response, live::StreamKey& key);
    base::Result<void> done(const base::Result<void>& result, Response& response);

    const Context& context_;
    const Statistics& statistics_;
};

// Parses a request body: "" or a JSON object. The error text is for the client.
base::Result<RecordingRequest> parse_recording_request(std::string_view body);

}  // namespace service::api
