// The rows of WebRTC: the server's, and those of a vhost.

#include "config/row_builder.h"

namespace config {
namespace {

using S = RtcServer;
using V = VhostRtc;
const Scope kServer{"rtc_server", [](const auto& root) -> decltype(auto) { return (root.snapshot->rtc_server); }};
const Scope kVhost{"vhost/rtc", [](const auto& root) -> decltype(auto) { return (root.vhost->rtc); }};

void add_listening(std::vector<Row>& rows) {
    rows.push_back(row(kServer, "enabled", &S::enabled, false, none(), kRestart, "The WebRTC server."));
    rows.push_back(row(kServer, "listen", &S::listen, {{"", 8000}}, none(), kRestart, "UDP addresses for media."));
    rows.push_back(row(kServer, "protocol", &S::protocol, "udp", one_of({"udp", "tcp", "all"}), kLive,
                       "Transports that answers offer: udp, tcp (which needs tcp's enabled) or all. A client may ask "
                       "for nothing else."));
    rows.push_back(
        row(kServer, "reuseport", &S::reuseport, 1, count(1, 64), kRestart,
            "Accepted, without effect: sockets that share each address are for several threads that read them. Here "
            "one does, 64 datagrams a call, so there is one socket."));
    const Scope tcp{"rtc_server/tcp",
                    [](const auto& root) -> decltype(auto) { return (root.snapshot->rtc_server.tcp); }};
    rows.push_back(
        row(kServer, "max_offers", &S::max_offers, 2000, count(1, 100'000), kLive,
            "Offers that are not connected yet, at once: for one more the oldest is dropped. Each is dropped "
            "after 10 s; about 45 kB each."));
    rows.push_back(
        row(tcp, "enabled", &RtcTcp::enabled, false, none(), kRestart, "WebRTC over TCP (RFC 6544, passive)."));
    rows.push_back(row(tcp, "listen", &RtcTcp::listen, {{"", 8000}}, none(), kRestart, "TCP addresses for media."));
}

void add_candidates(std::vector<Row>& rows) {
    rows.push_back(row(kServer, "candidate", &S::candidate, {"*"}, none(), kLive,
                       "Addresses put into answers: IP addresses, names of network interfaces, domain names, $NAME "
                       "of the environment; * or 0.0.0.0: those of this machine."));
    rows.push_back(row(kServer, "use_auto_detect_network_ip", &S::use_auto_detect_network_ip, true, none(), kLive,
                       "With candidate *, addresses of this machine's network interfaces are candidates."));
    rows.push_back(row(kServer, "ip_family", &S::ip_family, "ipv4", one_of({"ipv4", "ipv6", "all"}), kLive,
                       "Family of the candidates that are found out: ipv4, ipv6 or all."));
    rows.push_back(row(kServer, "api_as_candidates", &S::api_as_candidates, true, none(), kLive,
                       "The host by which the client reached the API is a candidate."));
    rows.push_back(row(kServer, "resolve_api_domain", &S::resolve_api_domain, true, none(), kLive,
                       "Where that host is a domain name, its address is the candidate."));
    rows.push_back(row(kServer, "keep_api_domain", &S::keep_api_domain, false, none(), kLive,
                       "The domain name itself is a candidate as well; few clients take one."));
    rows.push_back(list_row(kServer, "ice_server", &S::ice_server, kLive,
                            "Servers told to clients in Link fields: stun:HOST[:PORT], or turn:HOST[:PORT] USERNAME "
                            "CREDENTIAL. This server needs none.",
                            "stun:stun.example.org turn:turn.example.org:3478 user secret"));
}

void add_media(std::vector<Row>& rows) {
    rows.push_back(row(kServer, "ecdsa", &S::ecdsa, true, none(), kRestart,
                       "The DTLS certificate, made at start, is ECDSA (P-256); RSA otherwise."));
    rows.push_back(row(kServer, "encrypt", &S::encrypt, true, none(), kLive,
                       "Media is encrypted. Off is to debug with clients that can do without; browsers cannot."));
    rows.push_back(row(kServer, "merge_nalus", &S::merge_nalus, false, none(), kLive,
                       "Small slices of a frame share packets (STAP-A) on the way from RTMP; what comes before a slice "
                       "always shares its."));
    const Scope hole{"rtc_server/black_hole",
                     [](const auto& root) -> decltype(auto) { return (root.snapshot->rtc_server.black_hole); }};
    rows.push_back(row(hole, "enabled", &RtcBlackHole::enabled, false, none(), kRestart,
                       "Copies of what publishers send, decrypted, go to addr, to debug."));
    rows.push_back(
        row(hole, "addr", &RtcBlackHole::addr, "", none(), kRestart, "That UDP address.", "127.0.0.1:10000"));
}

void add_session(std::vector<Row>& rows) {
    rows.push_back(row(kVhost, "enabled", &V::enabled, false, none(), kLive,
                       "WebRTC for this vhost. Turns min_latency on, and mw_latency to 0, unless they are set."));
    rows.push_back(row(kVhost, "nack", &V::nack, true, none(), kLive,
                       "Lost packets are asked for again, and sent again to those who ask."));
    rows.push_back(row(kVhost, "nack_no_copy", &V::nack_no_copy, true, none(), kLive,
                       "Accepted, without effect: packets kept for that are always shared, never copied."));
    rows.push_back(row(kVhost, "twcc", &V::twcc, true, none(), kLive,
                       "Publishers are told when each packet came (transport-wide congestion control)."));
    rows.push_back(row(
        kVhost, "stun_timeout", &V::stun_timeout, 30, seconds(1, 3600), kLive,
        "A session of which nothing right comes for so long, no STUN request and no media, ends. After 30 s nothing is "
        "sent to it any more."));
    rows.push_back(
        row(kVhost, "stun_strict_check", &V::stun_strict_check, false, none(), kLive,
            "Accepted, without effect: STUN requests of wrong integrity, and of clients that take the controlled "
            "side of ICE (they are told: 487), are always refused."));
    rows.push_back(row(kVhost, "dtls_role", &V::dtls_role, "passive", one_of({"active", "passive"}), kLive,
                       "Who begins the DTLS handshake: active is this server, passive the client, where it leaves the "
                       "choice."));
    rows.push_back(row(kVhost, "dtls_version", &V::dtls_version, "auto", one_of({"auto", "dtls1.0", "dtls1.2"}), kLive,
                       "Which DTLS is spoken; auto: 1.2, and 1.0 with who has no other."));
    rows.push_back(row(kVhost, "drop_for_pt", &V::drop_for_pt, 0, count(0, 127), kLive,
                       "Drops packets of this payload type, to test; 0: none."));
    rows.push_back(
        row(kVhost, "init_rate_from_sdp", &V::init_rate_from_sdp, false, none(), kLive,
            "Publishers are told to begin with the bit rate of their offer's b= line (x-google-start-bitrate, "
            "which Chromium obeys)."));
    rows.push_back(row(kVhost, "keep_original_ssrc", &V::keep_original_ssrc, false, none(), kLive,
                       "Players see the publisher's SSRC, not one of their own."));
}

void add_bridges(std::vector<Row>& rows) {
    rows.push_back(row(kVhost, "rtmp_to_rtc", &V::rtmp_to_rtc, false, none(), kLive,
                       "Streams published by RTMP can be played by WebRTC."));
    rows.push_back(row(kVhost, "keep_bframe", &V::keep_bframe, false, none(), kLive,
                       "B-frames are kept on the way to WebRTC; many browsers show them in the wrong order."));
    rows.push_back(row(kVhost, "keep_avc_nalu_sei", &V::keep_avc_nalu_sei, true, none(), kLive,
                       "SEI units of H.264 are kept on the way to WebRTC."));
    rows.push_back(row(kVhost, "opus_bitrate", &V::opus_bitrate, 48'000, count(8'000, 320'000), kLive,
                       "Bit rate of audio made for WebRTC, bit/s."));
    rows.push_back(row(kVhost, "opus_ptime", &V::opus_ptime, "40", one_of({"20", "40", "60"}), kLive,
                       "How long a packet of audio made for WebRTC is, ms: longer ones come later and cost less."));
    rows.push_back(row(kVhost, "rtc_to_rtmp", &V::rtc_to_rtmp, false, none(), kLive,
                       "Streams published by WebRTC can be played by the other protocols, and recorded."));
    rows.push_back(row(kVhost, "pli_for_rtmp", &V::pli_for_rtmp, 6.0, seconds(0.5, 60), kLive,
                       "A WebRTC publisher is asked for a keyframe each so often, for the other protocols."));
    rows.push_back(row(kVhost, "aac_bitrate", &V::aac_bitrate, 48'000, count(8'000, 320'000), kLive,
                       "Bit rate of audio made from WebRTC, bit/s."));
}

}  // namespace

void add_rtc_rows(std::vector<Row>& rows) {
    add_listening(rows);
    add_candidates(rows);
    add_media(rows);
    add_session(rows);
    add_bridges(rows);
}

}  // namespace config
