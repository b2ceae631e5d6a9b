// The rows of access control and limits: addresses, web pages, signed URLs, limits, the server's own user.

#include "config/row_builder.h"

namespace config {
namespace {

template <class Section, class Scope>
void add_http_limits(std::vector<Row>& rows, const Scope& scope) {
    rows.push_back(row(scope, "body_timeout", &Section::body_timeout, 30'000, milliseconds(100, 600'000), kLive,
                       "Maximum time from the end of a request's header to the end of its body."));
    rows.push_back(row(scope, "idle_timeout", &Section::idle_timeout, 60'000, milliseconds(100, 3'600'000), kLive,
                       "A connection without a request for this time after the previous one is closed."));
    rows.push_back(row(scope, "write_timeout", &Section::write_timeout, 30'000, milliseconds(100, 3'600'000), kLive,
                       "A client that does not accept the next part of a response within this time is closed."));
}

void add_limits(std::vector<Row>& rows) {
    const Scope global{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    rows.push_back(row(global, "user", &Global::user, "", none(), kRestart,
                       "If root starts the server, it switches to this user, NAME or NAME:GROUP, with the "
                       "user's other groups. Files are opened as that user; only sockets are bound and keys "
                       "read at the start as root.",
                       "srs"));
    rows.push_back(row(global, "trusted_proxies", &Global::trusted_proxies, {}, none(), kLive,
                       "Addresses and networks of proxies in front of the HTTP servers. For their requests the "
                       "client is the address in X-Forwarded-For. From other peers that field is ignored.",
                       "10.0.0.5 2001:db8:7::/64"));

    const Scope scope{"address_limits",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->address_limits); }};
    using A = AddressLimits;
    rows.push_back(row(scope, "connections", &A::connections, -1, count(-1, 1'000'000), kLive,
                       "Maximum number of connections of one address; an IPv6 /64 network counts as one "
                       "address. -1: three quarters of max_connections; 0: no limit."));
    rows.push_back(row(scope, "rate", &A::rate, 100.0, count(0, 100'000), kLive,
                       "Maximum rate of new connections from one address, per second, and of WebRTC offers; 0: no "
                       "limit."));
    rows.push_back(row(scope, "burst", &A::burst, 500, count(1, 1'000'000), kLive,
                       "Number of connections that are accepted at once before the rate applies."));
    rows.push_back(row(scope, "hls_viewers", &A::hls_viewers, 1000, count(0, 10'000'000), kLive,
                       "Maximum number of HLS viewers (hls_ctx) of one address; 0: no limit."));
    rows.push_back(row(scope, "rtc_offers", &A::rtc_offers, 100, count(0, 1'000'000), kLive,
                       "Maximum number of WebRTC offers of one address that are not connected yet; 0: no limit."));
    rows.push_back(row(scope, "waiting_players", &A::waiting_players, 100, count(0, 1'000'000), kLive,
                       "Maximum number of players of one address that wait for their stream before they are answered, "
                       "and of its RTMP and RTSP players that get nothing; 0: no limit."));
    rows.push_back(row(scope, "waiting_requests", &A::waiting_requests, 2000, count(0, 10'000'000), kLive,
                       "Maximum number of HTTP requests of one address that wait for an answer that comes later; 0: no "
                       "limit."));
    rows.push_back(row(scope, "input_memory", &A::input_memory, 64, megabytes(0, 1'000'000), kLive,
                       "Maximum memory of the unfinished input of one address: messages, frames and requests whose end "
                       "has not come. Of all addresses together it is a quarter of total_stream_memory. 0: no limit."));
    rows.push_back(row(scope, "exempt", &A::exempt,
                       {*base::IpNetwork::parse("127.0.0.0/8"), *base::IpNetwork::parse("::1")}, none(), kLive,
                       "Addresses and networks to which these limits do not apply, such as this machine and "
                       "proxies; none: no exemption. The trusted_proxies are always exempt."));

    const Scope http{"http_server", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server); }};
    add_http_limits<HttpServer>(rows, http);
    const Scope api{"http_api", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api); }};
    rows.push_back(row(api, "request_timeout", &HttpApi::request_timeout, 10'000, milliseconds(100, 600'000), kLive,
                       "Maximum time from the first byte of a request, or the start of the connection, to the "
                       "end of the request's header."));
    rows.push_back(row(api, "max_header_size", &HttpApi::max_header_size, 16'384, bytes(1024, 1024 * 1024), kLive,
                       "Maximum size of a request line with its header fields; a longer one gets status 431."));
    add_http_limits<HttpApi>(rows, api);
}

void add_access(std::vector<Row>& rows) {
    const Scope security{"vhost/security", [](const auto& root) -> decltype(auto) { return (root.vhost->security); }};
    using S = VhostSecurity;
    rows.push_back(guarding(row(security, "enabled", &S::enabled, false, none(), kLive,
                                "Rules for publishers and players. A matching deny refuses the client. If there is any "
                                "allow, one must match. Without any rule every client is refused.")));
    rows.push_back(list_row(security, "allow", &S::allow, kLive,
                            "play or publish, and an address, a network (10.0.0.0/8, 2001:db8::/32) or all. May be "
                            "given several times.",
                            "play all"));
    rows.push_back(list_row(security, "deny", &S::deny, kLive, "Like allow; it takes precedence over every allow.",
                            "publish 192.0.2.0/24"));

    const Scope refer{"vhost/refer", [](const auto& root) -> decltype(auto) { return (root.vhost->refer); }};
    using R = VhostRefer;
    rows.push_back(
        guarding(row(refer, "enabled", &R::enabled, false, none(), kLive,
                     "Clients must come from a web page of these domains, by RTMP's pageUrl or HTTP's Referer.")));
    rows.push_back(row(refer, "all", &R::all, {}, none(), kLive,
                       "Domains with their subdomains, for publishers and players.", "example.com example.org"));
    rows.push_back(row(refer, "publish", &R::publish, {}, none(), kLive, "Domains for publishers, in addition to all.",
                       "example.com"));
    rows.push_back(
        row(refer, "play", &R::play, {}, none(), kLive, "Domains for players, in addition to all.", "example.com"));
}

void add_signed_urls(std::vector<Row>& rows) {
    const Scope scope{"vhost/signed_urls",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->signed_urls); }};
    using S = VhostSignedUrls;
    rows.push_back(
        guarding(row(scope, "enabled", &S::enabled, false, none(), kLive,
                     "Publishing and playing need a URL that is signed and has not expired, see doc/hooks.md.")));
    rows.push_back(row(scope, "secret", &S::secret, {}, none(), kLive,
                       "The secrets. A URL signed with any of them is valid, so that a secret can be replaced "
                       "without an interruption.",
                       "change-me"));
    rows.push_back(row(scope, "publish", &S::publish, true, none(), kLive, "Publishing needs a signed URL."));
    rows.push_back(row(scope, "play", &S::play, true, none(), kLive, "Playing needs a signed URL."));
}

}  // namespace

void add_security_rows(std::vector<Row>& rows) {
    add_limits(rows);
    add_access(rows);
    add_signed_urls(rows);
}

}  // namespace config
