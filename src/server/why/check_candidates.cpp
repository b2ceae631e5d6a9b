// Whether a client of WebRTC that has the URL reaches an address that the answer will offer. The addresses are those of
// service/rtc; names are not resolved.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/ip.h"
#include "server/why/config_line.h"
#include "server/why/evaluate.h"
#include "service/rtc/config.h"
#include "service/rtc/requests/candidates.h"

namespace server::why {
namespace {

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

std::string hosts_text(const std::vector<std::string>& hosts) {
    std::string text;
    for (const std::string& host : hosts) text += (text.empty() ? "" : ", ") + host;
    return text.empty() ? "none" : text;
}

std::vector<std::string> candidate_hosts(const Facts& facts, const service::rtc::ServerConfig& rtc) {
    const auto udp = ports_of(rtc.listen);
    const auto tcp = rtc.tcp.enabled ? ports_of(rtc.tcp.listen) : std::vector<uint16_t>();
    const auto environment = [](const std::string& name) -> std::string {
        const char* value = std::getenv(name.c_str());
        return value ? value : "";
    };
    const auto found =
        service::rtc::find_candidates({rtc, facts.target.host, facts.target.eip, udp, tcp},
                                      {.local = facts.local,
                                       .resolve = [](const std::string&) { return std::vector<std::string>(); },
                                       .environment = environment});
    std::vector<std::string> hosts;
    if (!found) return hosts;
    for (const auto& candidate : *found)
        if (std::ranges::find(hosts, candidate.host) == hosts.end()) hosts.push_back(candidate.host);
    return hosts;
}

bool check_media_port(const Facts& facts, const service::rtc::ServerConfig& rtc, bool is_local, Findings& findings) {
    const auto is_loopback = [](const config::ListenAddress& address) { return address.is_loopback(); };
    if (is_local || rtc.protocol == "tcp" || !std::ranges::all_of(rtc.listen, is_loopback)) return true;
    findings.push_back(missing(facts, "candidates", "media is sent and received on this machine alone", "",
                               "rtc_server/listen", std::to_string(rtc.listen.front().port)));
    return false;
}

}  // namespace

void check_candidates(const Facts& facts, Findings& findings) {
    const auto& rtc = facts.snapshot.get<service::rtc::ServerConfig>();
    if (!rtc.enabled || rtc.listen.empty()) return;
    const std::string& host = facts.target.host;
    const auto ip = base::IpAddress::parse(host);
    const bool is_local = host == "localhost" || (ip && ip->is_loopback());
    if (!check_media_port(facts, rtc, is_local, findings)) return;
    const std::vector<std::string> hosts = candidate_hosts(facts, rtc);
    const auto is_host = [&](const std::string& one) { return ip ? base::IpAddress::parse(one) == ip : one == host; };
    const bool resolves = !ip && !is_local && rtc.api_as_candidates && rtc.resolve_api_domain;
    const bool all_private = std::ranges::all_of(hosts, is_private);
    const std::string offered = fmt::format("media is offered at {}, port {}", hosts_text(hosts), rtc.listen[0].port);
    if (is_local || resolves || std::ranges::any_of(hosts, is_host) || (!all_private && !(ip && is_private(host)))) {
        findings.push_back({.check = "candidates",
                            .text = resolves ? fmt::format("media is offered at the addresses of {}, port {}, too",
                                                           host, rtc.listen[0].port)
                                             : offered,
                            .advice = fmt::format("UDP port {} has to be open in firewalls", rtc.listen[0].port)});
        return;
    }
    findings.push_back(missing(facts, "candidates",
                               fmt::format("{}, which clients that know {} may not reach", offered, host), "",
                               "rtc_server/candidate", host));
}

}  // namespace server::why
