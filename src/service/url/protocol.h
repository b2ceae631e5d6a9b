#pragma once
// Part: what a service knows of the URLs by which clients ask for streams, a member of its Description. server/why
// answers by the parts of all services why a URL cannot be played or published; it knows no service itself.
//
// All functions but those of a Reading are pure: they decide by the rules that the service itself uses, ask no hook,
// and resolve no host names.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "media/frame.h"
#include "net/http/http_exchange.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "service/url/finding.h"
#include "service/url/target.h"

namespace service::url {

// A player on a connection that stands already. Destroyed before the connection.
class Reading {
  public:
    virtual ~Reading() = default;
    // Asks for the stream. Yields.
    virtual base::Result<void> begin(runtime::ByteStream& socket, runtime::Deadline limit) = 0;
    // Bytes of the server. Visits the frames that are complete.
    virtual base::Result<void> take(std::span<const uint8_t> bytes) = 0;
    // What is to be sent to the server.
    virtual std::vector<uint8_t> take_output() { return {}; }
};
using FrameVisit = std::function<void(const media::Frame&)>;

// The listeners, by the paths of their directives, and the switches outside of vhosts that have to be on for them, the
// outer block first.
struct Listeners {
    std::vector<std::string_view> switches{};   // "rtsp_server/enabled"
    std::vector<std::string_view> listeners{};  // "rtsp_server/listen"
};
// Of a protocol by the HTTP server.
inline const Listeners kHttp{{"http_server/enabled"}, {"http_server/listen"}};
inline const Listeners kHttps{{"http_server/enabled", "http_server/https/enabled"}, {"http_server/https/listen"}};

// A protocol. Its URLs have a scheme of its own (read), or are of HTTP, with a path that begins in a certain way
// (read_request) or ends in an extension (find_stream).
struct Protocol {
    std::string (*name)(const Target&) = nullptr;  // "HTTP-FLV", "RTMPS"
    std::string_view vhost_switch{};               // "vhost/hls/enabled"; empty: it is on in every vhost
    Listeners plain{}, tls{};                      // without listeners: there is none

    std::vector<std::string_view> schemes{};  // in lower case
    // text: has the scheme in lower case. publishes: for URLs that do not say it. Errors: it is no URL of a stream; the
    // text has no secret.
    base::Result<Target> (*read)(std::string_view text, bool publishes, const config::Snapshot&) = nullptr;

    std::vector<std::string_view> paths{};  // "/rtc/v1", whole levels
    // Reads the names: host, port and protocol are set afterwards. The same errors.
    base::Result<Target> (*read_request)(const net::HttpRequest& request) = nullptr;

    std::vector<std::string_view> extensions{};  // ".flv"
    // Sets app and stream if the vhost serves a stream at the path, whether it has the protocol switched on or not.
    bool (*find_stream)(Target& target, const config::Vhost& vhost, const std::string& path) = nullptr;
    std::string (*path_of)(const Target& target, const config::Vhost& vhost) = nullptr;  // the reverse
    std::string_view path_directive{};                                                   // says where streams are

    // The URL by which clients ask for the target, without its secrets, of protocols without extensions. query:
    // parameters that it needs, without '?', may be empty. Empty: there is none.
    std::string (*write)(const Target& target, std::string_view query) = nullptr;

    // A player of the target; null: this server does not play it. The target outlives it.
    std::unique_ptr<Reading> (*reading)(const Target& target, const config::Vhost& vhost, FrameVisit visit) = nullptr;
};

struct Part {
    std::vector<Protocol> protocols{};
    // Evaluates whether a client with the URL, of any protocol, is admitted, and reaches what it is answered.
    void (*check_client)(const Facts& facts, const config::Vhost& vhost, Findings& findings) = nullptr;
    // Evaluates whether players with the URL, of any protocol, get the stream, which is published in this process: its
    // checks are "conversion" and "codecs".
    void (*check_stream)(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream,
                         Findings& findings) = nullptr;

    // Whether the target is of one of its protocols.
    bool has(const Target& target) const {
        return std::ranges::any_of(protocols, [&](const Protocol& one) { return &one == target.protocol; });
    }
};

}  // namespace service::url
