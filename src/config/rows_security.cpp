// The rows of access control and limits: addresses, web pages, signed URLs, limits, the server's own user.

#include "config/row_builder.h"

namespace config {
namespace {

template <class Section, class Scope>
void add_http_limits(std::vector<Row>& rows, const Scope& scope) {
    rows.push_back(row(scope, "body_timeout", &Section::body_timeout, 30'000, milliseconds(100, 600'000), kLive,
                       "The body of a request must be complete so long after its head."));
    rows.push_back(row(scope, "idle_timeout", &Section::idle_timeout, 60'000, milliseconds(100, 3'600'000), kLive,
                       "A connection without a request for so long after the last one is closed."));
    rows.push_back(row(scope, "write_timeout", &Section::write_timeout, 30'000, milliseconds(100, 3'600'000), kLive,
                       "A client that does not take the next part of an answer within that is closed."));
}

void add_limits(std::vector<Row>& rows) {
    const Scope global{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    rows.push_back(
        row(global, "user", &Global::user, "", none(), kRestart,
            "Started by root, the server becomes this user, NAME or NAME:GROUP, with its other groups: files "
            "are opened as that user; only sockets are bound, and keys read at the start, as root.",
            "srs"));
    rows.push_back(
        row(global, "trusted_proxies", &Global::trusted_proxies, {}, none(), kLive,
            "Addresses and networks of proxies in front of the HTTP servers: of their requests the client is "
            "whom X-Forwarded-For names. From everybody else that field is not believed.",
            "10.0.0.5 2001:db8:7::/64"));

    const Scope scope{"address_limits",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->address_limits); }};
    using A = AddressLimits;
    rows.push_back(row(scope, "connections", &A::connections, 0, count(0, 1'000'000), kLive,
                       "Connections that one address may have at once; of IPv6 one /64 counts as one. 0: any number."));
    rows.push_back(row(scope, "rate", &A::rate, 0.0, count(0, 100'000), kLive,
                       "New connections a second that are taken from one address; 0: any number."));
    rows.push_back(row(scope, "burst", &A::burst, 20, count(1, 1'000'000), kLive,
                       "So many may come at once, before the rate counts."));
    rows.push_back(row(scope, "hls_viewers", &A::hls_viewers, 1000, count(0, 10'000'000), kLive,
                       "HLS viewers (hls_ctx) that one address may have at once; 0: any number."));
    rows.push_back(row(scope, "rtc_offers", &A::rtc_offers, 100, count(0, 1'000'000), kLive,
                       "WebRTC offers of one address that are not connected yet; 0: any number."));
    rows.push_back(row(scope, "waiting_players", &A::waiting_players, 100, count(0, 1'000'000), kLive,
                       "HTTP players of one address that wait for a publisher (wait_publisher); 0: any number."));
    rows.push_back(row(scope, "exempt", &A::exempt,
                       {*base::IpNetwork::parse("127.0.0.0/8"), *base::IpNetwork::parse("::1")}, none(), kLive,
                       "Addresses and networks without these limits: this machine, proxies; none: there are none."));

    const Scope http{"http_server", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server); }};
    add_http_limits<HttpServer>(rows, http);
    const Scope api{"http_api", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api); }};
    rows.push_back(
        row(api, "request_timeout", &HttpApi::request_timeout, 10'000, milliseconds(100, 600'000), kLive,
            "The head of a request must be complete so long after its first byte or the connection's start."));
    rows.push_back(row(api, "max_header_size", &HttpApi::max_header_size, 16'384, bytes(1024, 1024 * 1024), kLive,
                       "Most bytes of a request line with its header fields; more is answered with 431."));
    add_http_limits<HttpApi>(rows, api);
}

void add_access(std::vector<Row>& rows) {
    const Scope security{"vhost/security", [](const auto& root) -> decltype(auto) { return (root.vhost->security); }};
    using S = VhostSecurity;
    rows.push_back(
        guarding(row(security, "enabled", &S::enabled, false, none(), kLive,
                     "Rules of who may publish and play. A deny that fits refuses; else, where there is any allow, one "
                     "must fit; with no rule at all everybody is refused.")));
    rows.push_back(list_row(security, "allow", &S::allow, kLive,
                            "play or publish, and who: an address, a network (10.0.0.0/8, 2001:db8::/32) or all. May "
                            "stand several times.",
                            "play all"));
    rows.push_back(
        list_row(security, "deny", &S::deny, kLive, "Likewise; it counts before every allow.", "publish 192.0.2.0/24"));

    const Scope refer{"vhost/refer", [](const auto& root) -> decltype(auto) { return (root.vhost->refer); }};
    using R = VhostRefer;
    rows.push_back(
        guarding(row(refer, "enabled", &R::enabled, false, none(), kLive,
                     "Clients must come from a web page of these domains: RTMP's pageUrl, HTTP's Referer.")));
    rows.push_back(row(refer, "all", &R::all, {}, none(), kLive,
                       "Domains, with those below them, for publishers and players.", "example.com example.org"));
    rows.push_back(
        row(refer, "publish", &R::publish, {}, none(), kLive, "Domains for publishers, beside all.", "example.com"));
    rows.push_back(row(refer, "play", &R::play, {}, none(), kLive, "Domains for players, beside all.", "example.com"));
}

void add_signed_urls(std::vector<Row>& rows) {
    const Scope scope{"vhost/signed_urls",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->signed_urls); }};
    using S = VhostSignedUrls;
    rows.push_back(
        guarding(row(scope, "enabled", &S::enabled, false, none(), kLive,
                     "Publishing and playing need a URL that is signed and has not expired, see doc/hooks.md.")));
    rows.push_back(row(scope, "secret", &S::secret, {}, none(), kLive,
                       "The secrets; a URL signed by any of them is good, so that they can be changed in turn.",
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
