#include "service/rtc/config.h"

#include <fmt/format.h>

#include "config/row_builder.h"
#include "service/rtc/requests/candidates.h"

namespace service::rtc {
namespace {

using S = ServerConfig;
using V = VhostConfig;
const config::Scope kServer{"rtc_server", config::kOfServer<ServerConfig>};
const config::Scope kVhost{"vhost/rtc", config::kOfVhost<VhostConfig>};

void add_listening(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kServer, "enabled", &S::enabled, none(), kRestart, "The WebRTC server."));
    rows.push_back(row(kServer, "listen", &S::listen, none(), kRestart, "UDP addresses for media."));
    rows.push_back(row(kServer, "protocol", &S::protocol, one_of({"udp", "tcp", "all"}), kLive,
                       "Transports that answers offer: udp, tcp (which needs tcp's enabled) or all. A client "
                       "may request only these."));
    rows.push_back(row(kServer, "reuseport", &S::reuseport, count(1, 64), kRestart,
                       "No effect. Several sockets per address serve several threads; here one thread reads 64 "
                       "datagrams per call, so there is one socket."));
    const Scope tcp{"rtc_server/tcp", [](const auto& root) -> decltype(auto) {
                        return (root.snapshot->template get<ServerConfig>().tcp);
                    }};
    rows.push_back(row(kServer, "max_offers", &S::max_offers, count(1, 100'000), kLive,
                       "Maximum number of offers that are not connected yet. At the limit a new offer replaces "
                       "the oldest. An offer ends after 10 s; it needs about 45 kB."));
    rows.push_back(row(tcp, "enabled", &TcpConfig::enabled, none(), kRestart, "WebRTC over TCP (RFC 6544, passive)."));
    rows.push_back(row(tcp, "listen", &TcpConfig::listen, none(), kRestart, "TCP addresses for media."));
}

void add_candidates(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kServer, "candidate", &S::candidate, none(), kLive,
                       "Addresses in answers: IP addresses, names of network interfaces, domain names, $NAME of "
                       "the environment; * or 0.0.0.0: the addresses of this machine."));
    rows.push_back(row(kServer, "use_auto_detect_network_ip", &S::use_auto_detect_network_ip, none(), kLive,
                       "With candidate *, addresses of this machine's network interfaces are candidates."));
    rows.push_back(row(kServer, "ip_family", &S::ip_family, one_of({"ipv4", "ipv6", "all"}), kLive,
                       "Address family of the candidates found by detection: ipv4, ipv6 or all."));
    rows.push_back(row(kServer, "api_as_candidates", &S::api_as_candidates, none(), kLive,
                       "The host in the client's request to the API is a candidate."));
    rows.push_back(row(kServer, "resolve_api_domain", &S::resolve_api_domain, none(), kLive,
                       "If that host is a domain name, its addresses are candidates."));
    rows.push_back(row(kServer, "keep_api_domain", &S::keep_api_domain, none(), kLive,
                       "The domain name itself is a candidate, too; few clients support it."));
    rows.push_back(list_row(kServer, "ice_server", &S::ice_server, kLive,
                            "STUN and TURN servers that clients get in Link header fields: stun:HOST[:PORT], or "
                            "turn:HOST[:PORT] USERNAME CREDENTIAL. This server needs none.",
                            "stun:stun.example.org turn:turn.example.org:3478 user secret"));
    rows.back().secret = true;
}

void add_media(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kServer, "ecdsa", &S::ecdsa, none(), kRestart,
                       "The DTLS certificate, generated at the start, is ECDSA (P-256); off: RSA."));
    rows.push_back(
        guarding(row(kServer, "encrypt", &S::encrypt, none(), kLive,
                     "Media is encrypted. off is for debugging with clients that support it; browsers do not.")));
    rows.push_back(row(kServer, "merge_nalus", &S::merge_nalus, none(), kLive,
                       "Small slices of a frame share packets (STAP-A) in streams from RTMP. NAL units before a "
                       "slice always share its packet."));
    const Scope hole{"rtc_server/black_hole", [](const auto& root) -> decltype(auto) {
                         return (root.snapshot->template get<ServerConfig>().black_hole);
                     }};
    rows.push_back(row(hole, "enabled", &BlackHoleConfig::enabled, none(), kRestart,
                       "Decrypted copies of the publishers' packets are sent to addr, for debugging."));
    rows.push_back(row(hole, "addr", &BlackHoleConfig::addr, none(), kRestart, "The UDP address for the copies.",
                       "127.0.0.1:10000"));
}

void add_session(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kVhost, "enabled", &V::enabled, none(), kLive,
                       "WebRTC for this vhost. It switches min_latency on and mw_latency to 0, unless they are "
                       "set."));
    rows.push_back(row(kVhost, "nack", &V::nack, none(), kLive,
                       "Lost packets of publishers are requested again, and lost packets are retransmitted to "
                       "players that request them."));
    rows.push_back(row(kVhost, "nack_prefer_rtx", &V::nack_prefer_rtx, none(), kLive,
                       "Lost packets are retransmitted as RTX (RFC 4588) where the client offers it; off: as they "
                       "were."));
    rows.push_back(
        row(kVhost, "playout_delay", &V::playout_delay, count(0, 10'000), kLive,
            "How long, in ms, players that lose packets are asked to hold video frames back at most, so that "
            "lost packets can be sent again in time; 0: never. What does not lose packets has no delay."));
    rows.push_back(row(kVhost, "nack_no_copy", &V::nack_no_copy, none(), kLive,
                       "No effect: packets for retransmission are always shared, never copied."));
    rows.push_back(row(kVhost, "twcc", &V::twcc, none(), kLive,
                       "Publishers get the arrival time of each packet (transport-wide congestion control)."));
    rows.push_back(row(kVhost, "stun_timeout", &V::stun_timeout, seconds(1, 3600), kLive,
                       "A session that receives no valid STUN request and no valid media for this time ends. "
                       "After 30 s nothing is sent to it."));
    rows.push_back(row(kVhost, "stun_strict_check", &V::stun_strict_check, none(), kLive,
                       "No effect: STUN requests with wrong integrity, and of clients in the controlled role of "
                       "ICE (error 487), are always refused."));
    rows.push_back(row(kVhost, "dtls_role", &V::dtls_role, one_of({"active", "passive"}), kLive,
                       "The side that begins the DTLS handshake if the client leaves the choice: active is this "
                       "server, passive the client."));
    rows.push_back(row(kVhost, "dtls_version", &V::dtls_version, one_of({"auto", "dtls1.0", "dtls1.2"}), kLive,
                       "The version of DTLS; auto: 1.2, and 1.0 with clients that support no other."));
    rows.push_back(row(kVhost, "drop_for_pt", &V::drop_for_pt, count(0, 127), kLive,
                       "Drops packets of this payload type, for tests; 0: none."));
    rows.push_back(row(kVhost, "init_rate_from_sdp", &V::init_rate_from_sdp, none(), kLive,
                       "Publishers are requested to begin with the bitrate of their offer's b= line "
                       "(x-google-start-bitrate, which Chromium supports)."));
    rows.push_back(row(kVhost, "keep_original_ssrc", &V::keep_original_ssrc, none(), kLive,
                       "Players get the publisher's SSRC instead of one of their own."));
}

void add_bridges(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kVhost, "rtmp_to_rtc", &V::rtmp_to_rtc, none(), kLive,
                       "Streams published by RTMP can be played by WebRTC."));
    rows.push_back(row(kVhost, "keep_bframe", &V::keep_bframe, none(), kLive,
                       "B-frames are kept in streams from RTMP; many browsers show them in the wrong order."));
    rows.push_back(row(kVhost, "keep_avc_nalu_sei", &V::keep_avc_nalu_sei, none(), kLive,
                       "SEI units of H.264 are kept in streams from RTMP."));
    rows.push_back(row(kVhost, "opus_bitrate", &V::opus_bitrate, count(8'000, 320'000), kLive,
                       "Bitrate of audio that is transcoded for WebRTC, bit/s."));
    rows.push_back(row(kVhost, "opus_ptime", &V::opus_ptime, one_of({"20", "40", "60"}), kLive,
                       "Duration of a packet of transcoded audio, ms: longer ones add delay and cost less."));
    rows.push_back(row(kVhost, "rtc_to_rtmp", &V::rtc_to_rtmp, none(), kLive,
                       "Streams published by WebRTC can be played by the other protocols, and recorded."));
    rows.push_back(row(kVhost, "layers_as_streams", &V::layers_as_streams, none(), kLive,
                       "Each smaller layer of a WebRTC publisher's simulcast is a stream of its own, too, called "
                       "stream@rid, with the publisher's audio, and a variant of the stream's HLS."));
    rows.push_back(row(kVhost, "pli_for_rtmp", &V::pli_for_rtmp, seconds(0.5, 60), kLive,
                       "Interval at which a WebRTC publisher is requested to send a keyframe, for the other "
                       "protocols."));
    rows.push_back(row(kVhost, "aac_bitrate", &V::aac_bitrate, count(8'000, 320'000), kLive,
                       "Bitrate of audio that is transcoded from WebRTC, bit/s."));
}

void add_rows(std::vector<config::Row>& rows) {
    add_listening(rows);
    add_candidates(rows);
    add_media(rows);
    add_session(rows);
    add_bridges(rows);
}

bool is_stun(std::string_view url) { return url.starts_with("stun:") || url.starts_with("stuns:"); }
bool is_turn(std::string_view url) { return url.starts_with("turn:") || url.starts_with("turns:"); }

void check(config::Checks& checks) {
    const auto& rtc = checks.snapshot().get<ServerConfig>();
    for (size_t i = 0; i < rtc.ice_server.size(); ++i) {
        const std::string& url = rtc.ice_server[i];
        if (!is_stun(url) && !is_turn(url))
            checks.error("rtc_server/ice_server",
                         fmt::format("ice_server: '{}' is neither a stun: nor a turn: address", url));
        if (!is_turn(url)) continue;
        if (i + 2 >= rtc.ice_server.size())
            checks.error("rtc_server/ice_server",
                         fmt::format("ice_server: write a username and a credential behind '{}'", url));
        i += 2;
    }
    if (rtc.enabled)
        for (const std::string& word : rtc.candidate)
            if (!is_candidate(word))
                checks.warning("rtc_server/candidate",
                               fmt::format("candidate: '{}' is no address, interface or domain name, nor * or $NAME: "
                                           "clients cannot use it",
                                           word));
    if (rtc.enabled && rtc.protocol == "tcp" && !rtc.tcp.enabled)
        checks.error("rtc_server/protocol", "protocol tcp needs `tcp { enabled on; }` in rtc_server");
    if (rtc.enabled && rtc.reuseport > 1)
        checks.warning("rtc_server/reuseport",
                       fmt::format("reuseport {} has no effect: one thread reads all datagrams, from one socket for "
                                   "each address",
                                   rtc.reuseport));
    if (rtc.black_hole.enabled)
        if (auto addr = config::parse_listen_address(rtc.black_hole.addr); !addr || addr->host.empty())
            checks.error("rtc_server/black_hole/enabled", "black_hole needs an addr, ADDRESS:PORT");
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    const auto& rtc = vhost.get<VhostConfig>();
    if (!rtc.enabled) return;
    if (!checks.was_set(vhost, "vhost/min_latency")) vhost.min_latency = true;
    if (!checks.was_set(vhost, "vhost/play/mw_latency")) vhost.play.mw_latency = 0;
    if (!checks.snapshot().get<ServerConfig>().enabled)
        checks.warning(vhost, "vhost/rtc/enabled",
                       fmt::format("rtc of vhost {} does nothing while rtc_server is not enabled", vhost.name));
    if (!rtc.nack_no_copy)
        checks.warning(vhost, "vhost/rtc/nack_no_copy", "nack_no_copy off has no effect: packets are always shared");
    if (rtc.stun_strict_check)
        checks.warning(vhost, "vhost/rtc/stun_strict_check",
                       "stun_strict_check on has no effect: STUN is always checked strictly");
    if (rtc.layers_as_streams && !rtc.rtc_to_rtmp)
        checks.warning(vhost, "vhost/rtc/layers_as_streams",
                       "layers_as_streams on is for players by WebRTC alone: for others rtc_to_rtmp has to be on");
}

const config::ListenAddresses* listen(const config::Snapshot& snapshot) {
    const auto& rtc = snapshot.get<ServerConfig>();
    return rtc.enabled ? &rtc.listen : nullptr;
}

const config::ListenAddresses* tcp_listen(const config::Snapshot& snapshot) {
    const auto& rtc = snapshot.get<ServerConfig>();
    return rtc.enabled && rtc.tcp.enabled ? &rtc.tcp.listen : nullptr;
}

}  // namespace

config::Section section() {
    return {.service = "rtc",
            .add_rows = add_rows,
            .listeners = {{"rtc", "rtc_server/listen", "webrtc", "rtc", config::Transport::kUdp, listen},
                          {"rtc", "rtc_server/tcp/listen", "webrtc over TCP", "rtc_tcp", config::Transport::kTcp,
                           tcp_listen}},
            .check = check,
            .check_vhost = check_vhost};
}

}  // namespace service::rtc
