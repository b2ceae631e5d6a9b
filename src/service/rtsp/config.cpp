#include "service/rtsp/config.h"

#include <fmt/format.h>

#include "config/row_builder.h"
#include "service/rtsp/pull_config.h"

namespace service::rtsp {
namespace {

using S = ServerConfig;
using V = VhostConfig;

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope server{"rtsp_server", kOfServer<S>};
    rows.push_back(row(server, "enabled", &S::enabled, none(), kRestart, "The RTSP server."));
    rows.push_back(row(server, "listen", &S::listen, none(), kRestart, "TCP addresses for RTSP."));
    rows.push_back(row(server, "session_timeout", &S::session_timeout, seconds(5, 3600), kLive,
                       "A client that sends no request for this time before it plays is disconnected. Clients are told "
                       "it as the timeout of their session."));
    const Scope udp{"rtsp_server/udp",
                    [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<S>().udp); }};
    rows.push_back(row(udp, "enabled", &UdpConfig::enabled, none(), kRestart,
                       "Clients of RTSP may have media by UDP; those of RTSPS have it on their connection."));
    rows.push_back(row(udp, "listen", &UdpConfig::listen, none(), kRestart,
                       "The UDP address of RTP, of all clients; RTCP has the next port."));
    const Scope tls{"rtsp_server/rtsps",
                    [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<S>().rtsps); }};
    rows.push_back(row(tls, "enabled", &TlsConfig::enabled, none(), kRestart, "RTSPS beside RTSP."));
    rows.push_back(row(tls, "listen", &TlsConfig::listen, none(), kRestart, "TCP addresses for RTSPS."));
    rows.push_back(row(tls, "key", &TlsConfig::key, none(), kLive, "The private key, PEM."));
    rows.push_back(row(tls, "cert", &TlsConfig::cert, none(), kLive, "The certificate, with its chain, PEM."));
    const Scope auth{"rtsp_server/auth",
                     [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<S>().auth); }};
    rows.push_back(guarding(row(auth, "enabled", &AuthConfig::enabled, none(), kLive,
                                "Clients need a user name and a password for every request but OPTIONS.")));
    rows.push_back(row(auth, "username", &AuthConfig::username, none(), kLive, "The user name.", "viewer"));
    rows.push_back(row(auth, "password", &AuthConfig::password, none(), kLive, "The password.", "secret"));
    rows.push_back(row(auth, "methods", &AuthConfig::methods, one_of({"all", "digest", "basic"}), kLive,
                       "How clients may send them: digest, basic (in the clear without RTSPS), or all: as the client "
                       "chooses."));
    const Scope vhost{"vhost/rtsp", kOfVhost<V>};
    rows.push_back(row(vhost, "enabled", &V::enabled, none(), kLive, "RTSP for this vhost."));
    rows.push_back(guarding(row(vhost, "publish", &V::publish, none(), kLive,
                                "Clients of RTSP may publish; whatever else is said about who may.")));
    rows.push_back(row(vhost, "rtmp_to_rtsp", &V::rtmp_to_rtsp, none(), kLive,
                       "Streams published by other protocols than RTSP can be played by RTSP, too."));
    add_pull_rows(rows);
}

void check(config::Checks& checks) {
    const auto& server = checks.snapshot().get<S>();
    if (!server.enabled && server.rtsps.enabled)
        checks.warning("rtsp_server/rtsps/enabled", "rtsps does nothing while rtsp_server is not enabled");
    if (server.udp.enabled && !server.enabled)
        checks.warning("rtsp_server/udp/enabled", "udp does nothing while rtsp_server is not enabled");
    if (server.udp.enabled && (server.udp.listen.size() != 1 || server.udp.listen[0].port == 65535))
        checks.error("rtsp_server/udp/listen", "udp of rtsp_server needs one address, whose port has a next one");
    if (server.auth.enabled && (server.auth.username.empty() || server.auth.password.empty()))
        checks.error("rtsp_server/auth/enabled", "auth of rtsp_server needs a username and a password");
    if (server.auth.enabled && server.auth.username.find(':') != std::string::npos)
        checks.error("rtsp_server/auth/username", "a user name must not contain a colon");
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    if (vhost.get<V>().enabled && !checks.snapshot().get<S>().enabled)
        checks.warning(vhost, "vhost/rtsp/enabled",
                       fmt::format("rtsp of vhost {} does nothing while rtsp_server is not enabled", vhost.name));
    check_ingests(checks, vhost);
}

const config::ListenAddresses* listen(const config::Snapshot& snapshot) {
    const auto& server = snapshot.get<S>();
    return server.enabled ? &server.listen : nullptr;
}

const config::ListenAddresses* udp_listen(const config::Snapshot& snapshot) {
    const auto& server = snapshot.get<S>();
    return server.enabled && server.udp.enabled ? &server.udp.listen : nullptr;
}

const config::ListenAddresses* tls_listen(const config::Snapshot& snapshot) {
    const auto& server = snapshot.get<S>();
    return server.enabled && server.rtsps.enabled ? &server.rtsps.listen : nullptr;
}

}  // namespace

config::Section section() {
    using Names = config::Block::Names;
    return {.service = "rtsp",
            .add_rows = add_rows,
            .blocks = {{"rtsp_server/udp", Names::kNone, false, false, nullptr, "RTP and RTCP by UDP."},
                       {"rtsp_server/rtsps", Names::kNone, false, false, nullptr, "RTSP over TLS."},
                       {"rtsp_server/auth", Names::kNone, false, false, nullptr, "Authentication of RTSP clients."}},
            .listeners = {{"rtsp", "rtsp_server/listen", "rtsp", "rtsp", config::Transport::kTcp, listen},
                          {"rtsp", "rtsp_server/udp/listen", "rtp of rtsp", "rtsp_udp", config::Transport::kUdp,
                           udp_listen},
                          {"rtsp", "rtsp_server/rtsps/listen", "rtsps", "rtsps", config::Transport::kTcp, tls_listen}},
            .named_blocks = ingest_blocks(),
            .check = check,
            .check_vhost = check_vhost};
}

}  // namespace service::rtsp
