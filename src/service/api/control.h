#pragma once
// Endpoints that change or reveal state: kicking a client, starting and stopping a recording, and the configuration in
// force with the origin of each value. All of them are privileged.

#include <functional>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"
#include "service/shared_parts.h"

namespace service::api {

class Control {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    using FindStream = std::function<bool(std::string_view id, live::StreamKey& key)>;
    // Identity, sessions and offers must outlive it. Without a recorder among the offers, requests for recordings are
    // answered with 501.
    Control(const Identity& identity, CurrentSnapshot snapshot, net::SessionTable& sessions, FindStream find_stream,
            const Offers& offers)
        : identity_(identity),
          snapshot_(std::move(snapshot)),
          sessions_(sessions),
          find_stream_(std::move(find_stream)),
          offers_(offers) {}

    std::vector<Endpoint> endpoints();

  private:
    using Request = net::HttpRequest;
    using Response = net::HttpResponse;
    base::Result<void> kick(Request& request, Response& response);
    base::Result<void> start_recording(Request& request, Response& response);
    base::Result<void> stop_recording(Request& request, Response& response);
    base::Result<void> recording(Request& request, Response& response);
    base::Result<void> configuration(Request& request, Response& response);
    base::Result<bool> stream_of(Request& request, Response& response, live::StreamKey& key);
    base::Result<void> done(const base::Result<void>& result, Response& response);

    const Identity& identity_;
    CurrentSnapshot snapshot_;
    net::SessionTable& sessions_;
    FindStream find_stream_;
    const Offers& offers_;
};

// Parses a request body: "" or a JSON object. The error text is for the client.
base::Result<RecordingRequest> parse_recording_request(std::string_view body);

}  // namespace service::api
