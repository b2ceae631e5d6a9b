// Which listeners serve the URL, whether they are enabled, and whether the URL names one of them.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/ip.h"
#include "config/listeners.h"
#include "server/why/config_line.h"
#include "server/why/evaluate.h"
#include "server/why/listeners.h"

namespace server::why {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kSoonS = 14 * kDayS;

bool check_switches(const Facts& facts, Findings& findings) {
    for (const std::string_view path : switches_of(facts.target)) {
        if (is_on(facts.snapshot, nullptr, path)) continue;
        findings.push_back(
            missing(facts, "protocol", fmt::format("{} is not enabled", name_of(facts.target)), "", path, "on"));
        return false;
    }
    if (facts.target.protocol == Protocol::kWebrtc && addresses_of(facts.target, facts.snapshot).empty()) {
        const bool tls = facts.target.tls;
        findings.push_back(missing(facts, "protocol", "WebRTC needs the API or the HTTP server for its offers", "",
                                   tls                    ? "http_server/https/enabled"
                                   : facts.target.is_page ? "http_server/enabled"
                                                          : "http_api/enabled",
                                   "on"));
        return false;
    }
    findings.push_back({.check = "protocol", .text = fmt::format("{} is enabled", name_of(facts.target))});
    return true;
}

// What else has the port: "it is http's".
std::string owner_of(const config::Snapshot& snapshot, uint16_t port) {
    std::string owner;
    config::for_each_address(snapshot, [&](const config::Listener& listener, const config::ListenAddress& address) {
        if (address.port == port && owner.empty()) owner = listener.name;
    });
    return owner.empty() ? "nothing of this server listens there" : fmt::format("that is the port of {}", owner);
}

bool is_of_this_machine(const std::string& host) {
    const auto ip = base::IpAddress::parse(host);
    return host == "localhost" || (ip && ip->is_loopback());
}

void check_port(const Facts& facts, Findings& findings) {
    const Target& target = facts.target;
    const auto addresses = addresses_of(target, facts.snapshot);
    const auto has_port = [&](const Listening& one) { return one.address.port == target.port; };
    const auto found = std::ranges::find_if(addresses, has_port);
    if (found == addresses.end()) {
        Target right = target;
        right.port = addresses.front().address.port;
        findings.push_back({.check = "port",
                            .verdict = Verdict::kBad,
                            .text = fmt::format("{} is at port {}, the URL has {}: {}", name_of(target), right.port,
                                                target.port, owner_of(facts.snapshot, target.port)),
                            .url = url_of(right, facts.snapshot),
                            .advice = "if something in front of the server passes the port on, this is no mistake"});
        return;
    }
    const auto is_open = [&](const Listening& one) { return has_port(one) && !one.address.is_loopback(); };
    if (!is_of_this_machine(target.host) && std::ranges::none_of(addresses, is_open)) {
        findings.push_back(missing(
            facts, "port",
            fmt::format("port {} is open to this machine alone: it listens at {}", target.port, found->address.text()),
            "", found->path, std::to_string(target.port)));
        return;
    }
    if (facts.live && facts.live->listens == false) {
        findings.push_back(
            {.check = "port",
             .verdict = Verdict::kBad,
             .text = fmt::format("nothing answers at port {}, although {} says so", target.port, found->path),
             .advice = "the log of the start says why; srs doctor -c FILE names who has the port"});
        return;
    }
    findings.push_back({.check = "port", .text = fmt::format("port {} is {}", target.port, found->path)});
}

void check_host(const Facts& facts, Findings& findings) {
    const std::string& host = facts.target.host;
    const auto ip = base::IpAddress::parse(host);
    if (!ip || ip->is_loopback() || facts.local.empty()) return;
    const auto has_it = [&](const runtime::LocalAddress& one) { return base::IpAddress::parse(one.ip) == ip; };
    if (std::ranges::any_of(facts.local, has_it)) return;
    findings.push_back({.check = "host",
                        .verdict = Verdict::kUnknown,
                        .text = fmt::format("{} is no address of this machine", host),
                        .advice = "behind NAT, or in a container, its ports have to be passed on to this machine"});
}

void check_certificate(const Facts& facts, Findings& findings) {
    if (!facts.target.tls || !facts.certificate) return;
    const CertificateFacts& certificate = *facts.certificate;
    Finding finding{.check = "certificate", .verdict = Verdict::kBad};
    const int64_t left_s = certificate.not_after_s - facts.now_s;
    if (!certificate.error.empty()) {
        finding.text = certificate.error;
        finding.advice = "name a certificate and its key by cert and key";
    } else if (left_s <= 0) {
        finding.text = fmt::format("the certificate ended {} days ago", -left_s / kDayS);
        finding.advice = "renew it, and reload: kill -HUP";
    } else if (!certificate.has_host) {
        finding.text = fmt::format("the certificate is not for {}", facts.target.host);
        finding.advice = "players refuse it: use a name that the certificate has, or get one for this name";
    } else if (left_s < kSoonS) {
        finding.verdict = Verdict::kWarn;
        finding.text = fmt::format("the certificate ends in {} days", left_s / kDayS);
        finding.advice = "renew it, and reload: kill -HUP";
    } else {
        finding.verdict = Verdict::kOk;
        finding.text = fmt::format("the certificate is for {}, for {} days", facts.target.host, left_s / kDayS);
    }
    findings.push_back(std::move(finding));
}

// Browsers give a camera only to pages that came encrypted, or from this machine.
void check_page(const Facts& facts, Findings& findings) {
    const Target& target = facts.target;
    if (!target.is_page || target.tls || target.action != net::Action::kPublish || is_of_this_machine(target.host))
        return;
    findings.push_back(missing(facts, "page", "browsers give no camera to a page that came by http://", "",
                               "http_server/https/enabled", "on"));
    if (is_on(facts.snapshot, nullptr, "http_server/https/enabled")) {
        findings.back().line.clear();
        findings.back().where.clear();
        findings.back().advice = "open the page by https://";
    }
}

}  // namespace

bool check_addresses(const Facts& facts, Findings& findings) {
    if (!check_switches(facts, findings)) return false;
    check_port(facts, findings);
    check_host(facts, findings);
    check_certificate(facts, findings);
    check_page(facts, findings);
    return true;
}

}  // namespace server::why
