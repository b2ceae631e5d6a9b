#include "service/edge/config.h"

#include "config/row_builder.h"
#include "service/cluster_block.h"
#include "service/edge/origin.h"

namespace service::edge {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"vhost/cluster", kOfVhost<VhostConfig>};
    using V = VhostConfig;
    rows.push_back(row(scope, "mode", &V::mode, one_of({"local", "remote"}), kLive,
                       "remote: this vhost is an edge. What its players ask for is pulled from the origins, and what "
                       "is published to it is passed up to them; see doc/edge.md."));
    rows.push_back(row(scope, "origin", &V::origin, none(), kLive,
                       "The origins of an edge: HOST, HOST:PORT, or a URL of rtmp, rtmps, http or https without a "
                       "path, whose scheme is then the protocol; or srt://HOST:PORT?passphrase=...&latency=... "
                       "They are used in turn.",
                       "127.0.0.1:1935 localhost:1935"));
    rows.push_back(row(scope, "token_traverse", &V::token_traverse, none(), kLive,
                       "An origin decides about each client: it is shown what the client sent in connect."));
    rows.push_back(row(scope, "vhost", &V::vhost, none(), kLive,
                       "The vhost that origins are asked for; [vhost] is this one.", "same.edge.srs.com"));
    rows.push_back(
        row(scope, "debug_srs_upnode", &V::debug_srs_upnode, none(), kLive,
            "Origins are told which server, process and connection asks, for their log (srs_* in connect)."));
    rows.push_back(row(scope, "protocol", &V::protocol, one_of({"rtmp", "flv", "flvs"}), kLive,
                       "How streams are pulled: by RTMP, or by HTTP-FLV (flvs: over TLS)."));
    rows.push_back(row(scope, "follow_client", &V::follow_client, none(), kLive,
                       "Streams are pulled by the protocol of their first player: HTTP-FLV for players by HTTP-FLV, "
                       "RTMP for others."));
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    const auto& cluster = vhost.get<VhostConfig>();
    constexpr const char* kOrigin = "vhost/cluster/origin";
    bool takes_rtmp = false;
    for (const std::string& text : cluster.origin) {
        auto origin = parse_origin(text);
        if (!origin) checks.error(vhost, kOrigin, "origin: " + origin.error().text());
        takes_rtmp |= origin && origin->takes_rtmp();
    }
    if (!cluster.is_edge() || !vhost.enabled) return;
    if (cluster.origin.empty() && !vhost.get<ClusterLookup>().locates())
        checks.error(vhost, "vhost/cluster/mode",
                     "vhost " + vhost.name + " is an edge (mode remote) without an origin");
    if (cluster.token_traverse && !takes_rtmp)
        checks.error(vhost, "vhost/cluster/token_traverse", "token_traverse needs an origin that takes RTMP");
}

}  // namespace

const config::Vhost* find_edge(const config::Snapshot& snapshot, std::string_view vhost) {
    const config::Vhost* found = snapshot.find_vhost(vhost);
    return found && found->enabled && found->get<VhostConfig>().is_edge() ? found : nullptr;
}

config::Section section() { return {.service = "edge", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::edge
