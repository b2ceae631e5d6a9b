#pragma once
// Endpoints that change or reveal state: kicking a client, starting and stopping a recording, and the configuration in
// force with the origin of each value. All of them are privileged.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"

namespace service::api {

// The options of a requested recording that may differ from the vhost's dvr block.
struct RecordingAsk {
    std::optional<std::string> path = std::nullopt;  // a pattern below the root of the vhost's dvr_path
    std::optional<bool> segments = std::nullopt;
    std::optional<int64_t> duration_ms = std::nullopt;  // of a segment
    bool pre_roll = true;                               // begin with the current GOP, otherwise with the next keyframe
};

// Functions that other services provide to the API. A missing one is answered with 501.
struct Controls {
    std::function<base::Result<void>(const live::StreamKey&, const RecordingAsk&)> start_recording{};
    std::function<base::Result<void>(const live::StreamKey&)> stop_recording{};
    std::function<bool(const live::StreamKey&)> is_recording{};  // by request
};

class Control {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    using FindStream = std::function<bool(std::string_view id, live::StreamKey& key)>;
    // Identity, sessions and controls must outlive it.
    Control(const Identity& identity, CurrentSnapshot snapshot, net::SessionTable& sessions, FindStream find_stream,
            const Controls& controls)
        : identity_(identity),
          snapshot_(std::move(snapshot)),
          sessions_(sessions),
          find_stream_(std::move(find_stream)),
          controls_(controls) {}

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
    const Controls& controls_;
};

// Parses a request body: "" or a JSON object. The error text is for the client.
base::Result<RecordingAsk> parse_recording_ask(std::string_view body);

}  // namespace service::api
