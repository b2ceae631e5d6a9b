#include "service/rtc/urls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/authority.h"
#include "base/ip.h"
#include "protocol/http/url.h"
#include "service/rtc/config.h"
#include "service/rtc/requests/candidates.h"
#include "service/rtc/requests/offer_request.h"
#include "service/url/names.h"

namespace service::rtc {
namespace {

using base::Code;
using base::fail;
using base::Result;
using media::Codec;

std::string url_name(const url::Target&) { return "WebRTC"; }

std::string parameter_of(const url::Target& target, std::string_view name) {
    const std::string_view query = std::string_view(target.param).substr(target.param.empty() ? 0 : 1);
    return std::string(http::find_parameter(http::parse_query(query), name).value_or(""));
}

// webrtc://HOST[:PORT]/APP/STREAM, whose port is that of the API.
Result<url::Target> read_url(std::string_view text, bool publishes, const config::Snapshot&) {
    const auto parsed = TRY(::rtmp::parse_any_url(text));
    url::Target target{.action = url::action_of(publishes)};
    target.host = parsed.host;
    const auto authority = TRY(base::split_authority(url::authority_in(text)));
    if (parsed.stream.empty()) return fail(Code::kProtocol, "the URL names no stream: webrtc://HOST/APP/STREAM");
    TRY(url::take_address(target, TRY(::rtmp::resolve_stream(parsed.tc_url(), "", parsed.stream))));
    target.tls = parameter_of(target, "schema") == "https";
    target.port = authority.port.value_or(target.tls ? 443 : 1985);
    return target;
}

// /rtc/v1/whip/?app=&stream=, whep, whip-play.
Result<url::Target> read_request(const net::HttpRequest& request) {
    const std::string& path = request.message.path;
    const std::string_view rest = std::string_view(path).substr(std::min<size_t>(path.size(), sizeof "/rtc/v1"));
    const std::string_view call = rest.substr(0, rest.find('/'));
    if (call != "whip" && call != "whep" && call != "whip-play")
        return fail(Code::kProtocol,
                    "the URL of the JSON API names no stream: give the streamurl, webrtc://HOST/APP/STREAM");
    url::Target target{.action = url::action_of(call == "whip")};
    auto offer = TRY(read_whip(request, false));
    target.vhost = std::move(offer.vhost);
    target.app = std::move(offer.app);
    target.stream = std::move(offer.stream);
    target.param = std::move(offer.param);
    return target;
}

std::string write_url(const url::Target& target, std::string_view query) {
    return fmt::format("{}://{}/rtc/v1/{}/?app={}&stream={}{}{}", target.tls ? "https" : "http",
                       url::authority_of(target, target.tls ? 443 : 80),
                       target.action == net::Action::kPublish ? "whip" : "whep", http::percent_encode(target.app),
                       http::percent_encode(target.stream), query.empty() ? "" : "&", query);
}

// ---- Candidates: whether a client that has the URL reaches an address that the answer will offer.

std::vector<uint16_t> ports_of(const config::ListenAddresses& addresses) {
    std::vector<uint16_t> ports;
    for (const config::ListenAddress& address : addresses) ports.push_back(address.port);
    return ports;
}

// Reachable within one network alone (RFC 1918, RFC 4193, loopback).
bool is_private(const std::string& host) {
    const auto ip = base::IpAddress::parse(host);
    if (!ip) return false;
    static const std::vector<base::IpNetwork> kPrivate = [] {
        std::vector<base::IpNetwork> networks;
        for (const char* text : {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7"})
            networks.push_back(*base::IpNetwork::parse(text));
        return networks;
    }();
    return ip->is_loopback() || std::ranges::any_of(kPrivate, [&](const auto& one) { return one.contains(*ip); });
}

std::vector<std::string> candidate_hosts(const url::Facts& facts, const ServerConfig& rtc) {
    const auto udp = ports_of(rtc.listen);
    const auto tcp = rtc.tcp.enabled ? ports_of(rtc.tcp.listen) : std::vector<uint16_t>();
    const auto environment = [](const std::string& name) -> std::string {
        const char* value = std::getenv(name.c_str());
        return value ? value : "";
    };
    const std::string eip = parameter_of(facts.target, "eip");
    const auto found = find_candidates({rtc, facts.target.host, eip, udp, tcp},
                                       {.local = facts.local,
                                        .resolve = [](const std::string&) { return std::vector<std::string>(); },
                                        .environment = environment});
    std::vector<std::string> hosts;
    if (!found) return hosts;
    for (const auto& candidate : *found)
        if (std::ranges::find(hosts, candidate.host) == hosts.end()) hosts.push_back(candidate.host);
    return hosts;
}

bool check_media_port(const url::Facts& facts, const ServerConfig& rtc, bool is_local, url::Findings& findings) {
    const auto is_loopback = [](const config::ListenAddress& address) { return address.is_loopback(); };
    if (is_local || rtc.protocol == "tcp" || !std::ranges::all_of(rtc.listen, is_loopback)) return true;
    findings.push_back(missing(facts, "candidates", "media is sent and received on this machine alone", "",
                               "rtc_server/listen", std::to_string(rtc.listen.front().port)));
    return false;
}

void check_candidates(const url::Facts& facts, url::Findings& findings) {
    const auto& rtc = facts.snapshot.get<ServerConfig>();
    if (!rtc.enabled || rtc.listen.empty()) return;
    const std::string& host = facts.target.host;
    const auto ip = base::IpAddress::parse(host);
    const bool is_local = host == "localhost" || (ip && ip->is_loopback());
    if (!check_media_port(facts, rtc, is_local, findings)) return;
    const std::vector<std::string> hosts = candidate_hosts(facts, rtc);
    const auto is_host = [&](const std::string& one) { return ip ? base::IpAddress::parse(one) == ip : one == host; };
    const bool resolves = !ip && !is_local && rtc.api_as_candidates && rtc.resolve_api_domain;
    const bool all_private = std::ranges::all_of(hosts, is_private);
    const uint16_t port = rtc.listen[0].port;
    const std::string offered = fmt::format("media is offered at {}, port {}",
                                            hosts.empty() ? "none" : fmt::format("{}", fmt::join(hosts, ", ")), port);
    if (is_local || resolves || std::ranges::any_of(hosts, is_host) || (!all_private && !(ip && is_private(host)))) {
        findings.push_back(
            {.check = "candidates",
             .text =
                 resolves ? fmt::format("media is offered at the addresses of {}, port {}, too", host, port) : offered,
             .advice = fmt::format("UDP port {} has to be open in firewalls", port)});
        return;
    }
    findings.push_back(missing(facts, "candidates",
                               fmt::format("{}, which clients that know {} may not reach", offered, host), "",
                               "rtc_server/candidate", host));
}

// The token is in a header, so that a URL cannot have it.
void check_token(const url::Facts& facts, url::Findings& findings) {
    const config::HttpApiAuth& auth = facts.snapshot.http_api.auth;
    if (!auth.enabled || !auth.rtc_bearer_enabled) return;
    findings.push_back({.check = "password",
                        .verdict = url::Verdict::kUnknown,
                        .text = "offers need the token of http_api's auth (rtc_bearer_enabled)",
                        .advice = "the client sends the header Authorization: Bearer TOKEN"});
}

void check_client_of_url(const url::Facts& facts, const config::Vhost&, url::Findings& findings) {
    if (!url_part()->has(facts.target)) return;
    check_token(facts, findings);
    check_candidates(facts, findings);
}

// ---- The stream

// Frames have to be made of a WebRTC publisher's packets for other protocols, and packets of frames for WebRTC.
bool check_conversion(const url::Facts& facts, const config::Vhost& vhost, bool is_rtp, url::Findings& findings) {
    const auto& rtc = vhost.get<VhostConfig>();
    const bool to_rtc = url_part()->has(facts.target);
    if (is_rtp == to_rtc || (to_rtc ? rtc.rtmp_to_rtc : rtc.rtc_to_rtmp)) return true;
    findings.push_back(missing(facts, "conversion",
                               to_rtc ? "streams that are not published by WebRTC are not converted to it"
                                      : "the stream is published by WebRTC, which is not converted for others",
                               vhost.name, to_rtc ? "vhost/rtc/rtmp_to_rtc" : "vhost/rtc/rtc_to_rtmp", "on"));
    if (!to_rtc) findings.back().advice = "it counts for publishers that come after it";
    return false;
}

void check_video(Codec codec, url::Findings& findings) {
    constexpr Codec kCarried[] = {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp8, Codec::kVp9};
    if (std::ranges::find(kCarried, codec) == std::end(kCarried))
        findings.push_back(url::uncarried("WebRTC", codec));
    else if (codec == Codec::kHevc)
        findings.push_back({.check = "codecs",
                            .verdict = url::Verdict::kWarn,
                            .text = "the video is HEVC, which not every browser takes by WebRTC",
                            .advice = "publish H264 where all browsers must be reached"});
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost& vhost, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (!check_conversion(facts, vhost, stream.is_rtp, findings) || !url_part()->has(facts.target)) return;
    for (const Codec codec : stream.video) check_video(codec, findings);
    if (!stream.has_b_frames || vhost.get<VhostConfig>().keep_bframe) return;
    findings.push_back({.check = "codecs",
                        .verdict = url::Verdict::kWarn,
                        .text = "the video has B-frames, which are dropped for WebRTC: it moves unevenly",
                        .advice = "publish without: -bf 0, or tune zerolatency"});
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{
        .protocols = {{.name = url_name,
                       .vhost_switch = "vhost/rtc/enabled",
                       .plain = {{"rtc_server/enabled"}, {"http_api/listen", "http_server/listen"}},
                       .tls = {{"rtc_server/enabled"}, {"http_server/https/listen", "http_api/https/listen"}},
                       .schemes = {"webrtc"},
                       .read = read_url,
                       .paths = {"/rtc/v1"},
                       .read_request = read_request,
                       .write = write_url}},
        .check_client = check_client_of_url,
        .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::rtc
