#pragma once
// The parts of the server that services share, and what services offer to each other. server/ owns the parts; they
// outlive every service.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "net/access/file_access.h"
#include "net/access/gate.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_client.h"
#include "net/http/http_router.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "protocol/prometheus/text.h"
#include "service/alert.h"
#include "service/identity.h"
#include "service/locator.h"
#include "service/other_process.h"
#include "service/push_link.h"
#include "service/recorder.h"
#include "service/relayed_stream.h"

namespace net {
struct PastSessions;
struct SessionQuery;
class UsageLedger;
}  // namespace net

namespace service {

// What a service offers that cuts published streams into segments and serves them over HTTP.
struct SegmentOffer {
    std::string_view name;  // in the API: "hls"
    // How long the segments of a vhost are meant to be, s; nothing: it has none.
    std::function<std::optional<double>(const config::Vhost&)> fragment;
    // Whether a URL's path may be that of a segment of the vhost, which may have expired.
    std::function<bool(const config::Vhost&, std::string_view path)> is_segment;
    // The group of streams, "live/x", of whose playlist the stream is a variant; empty: none.
    std::function<std::string(const live::StreamKey&)> variant_of{};
};

// What a service does about a stream that is not published.
enum class Fetching : uint8_t {
    kNever,    // it is not fetched
    kAsked,    // servers are asked for it when a player asks the gate, so that players may wait for it
    kRefused,  // they were asked a moment ago, and none has it
};
// Does not yield.
using FetchOffer = std::function<Fetching(const live::StreamKey&)>;

// Where a published stream goes, beside its players.
struct StreamOutput {
    enum class State : uint8_t { kWorks, kStarts, kFails };
    std::string output;  // "hls", "dash", "dvr", "forward", "edge", "transcode", "exec", "hook"
    std::string to{};    // the other server, or the name of the program; may be empty
    State state = State::kWorks;
    std::string problem{};  // why it fails
};
using OutputVisit = std::function<void(const live::StreamKey&, StreamOutput)>;
// Visits the outputs of that stream; of null, those of all streams that fail. Does not yield.
using OutputOffer = std::function<void(const live::StreamKey* only, const OutputVisit& visit)>;

// What services offer to each other. A service puts its offer here when it is made and uses those of others from
// Module::connect() on. An offer whose service is not built in stays empty. A service outlives those that are started
// after it, so a user of an offer has to be started later.
struct Offers {
    Recorder* recorder = nullptr;
    std::vector<SegmentOffer> segments{};
    std::vector<PushOffer> pushes{};
    std::vector<FetchOffer> fetches{};
    std::vector<RelayOffer> relays{};
    std::vector<OutputOffer> outputs{};  // of services that do not report theirs by events (live::OutputFailed)
    Locator* locator = nullptr;
    // The server's; null: the process will never have another one (tests).
    OtherProcess* other_process = nullptr;
    // Serves a connection of the other process by RTMP. Does not yield.
    std::function<void(std::unique_ptr<runtime::ByteStream>)> serve_other_process{};
    // The other process publishes the stream from now on, or does no longer. Does not yield.
    std::vector<std::function<void(const live::StreamKey&)>> other_process_changed{};
    // Each reads what this process has to have of the one that it has replaced: when the two begin to serve together,
    // and, is_ending, when that one is about to end, which waits for it (ProcessLink::kLastReadMs). They yield.
    std::vector<std::function<void(bool is_ending)>> read_other_process{};
    // What the other process may ask this one, beside the API. Routes are added before Module::start().
    net::HttpRouter other_process_router{};
    // Whether what is published to a vhost is passed up to another server. Does not yield.
    std::function<bool(const config::Vhost&)> passes_up{};
    // Records a change that somebody asked for. Does not yield.
    std::function<void(const net::AuditEvent&)> audit{};
    // Sessions that have ended, the newest first, from what is kept on disk; at most so many. Empty: nothing is.
    // Yields.
    std::function<base::Result<net::PastSessions>(const net::SessionQuery&)> past_sessions{};
    const net::UsageLedger* usage = nullptr;  // null: nobody counts
    // Reports that an alert was raised or cleared, to whom the vhosts name. Does not yield.
    std::function<void(const Alert&)> report_alert{};
    // The data field of /api/v1/summaries, as JSON. Does not yield.
    std::function<std::string()> summaries{};
    // Each appends the metrics of its service to the text, always the same families. They do not yield.
    std::vector<std::function<void(prometheus::Text&)>> metrics{};

    Fetching fetching(const live::StreamKey& key) const {
        for (const FetchOffer& offer : fetches)
            if (const Fetching fetching = offer(key); fetching != Fetching::kNever) return fetching;
        return Fetching::kNever;
    }
    bool is_fetched(const live::StreamKey& key) const { return fetching(key) != Fetching::kNever; }
    // The length of the vhost's segments of "hls" or "dash", s; nothing: it has none.
    std::optional<double> fragment(const config::Vhost& vhost, std::string_view format) const {
        const auto offer = std::ranges::find(segments, format, &SegmentOffer::name);
        return offer != segments.end() ? offer->fragment(vhost) : std::nullopt;
    }
};

struct SharedParts {
    const Identity& identity;
    const std::vector<std::string_view>& features;  // of all services that are built in: Description::features
    net::SessionTable& sessions;
    net::Gate& gate;
    net::FileAccess& files;
    live::Registry& registry;
    live::Events& events;
    net::HttpRouter& router;      // of http_server
    net::HttpRouter& api_router;  // of http_api
    net::ApiTable& api_rows;      // rows of other services than the API; complete at Module::connect()
    net::HttpClient& http_client;
    const net::Operations& operations;
    Offers& offers;
};

}  // namespace service
