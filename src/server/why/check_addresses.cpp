// Which listeners serve the URL, whether they are enabled, and whether the URL names one of them.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/ip.h"
#include "config/listeners.h"
#include "server/why/evaluate.h"
#include "server/why/listeners.h"

namespace server::why {
namespace {

using service::url::is_on;

constexpr int64_t kDayS = 86'400;
constexpr int64_t kSoonS = 14 * kDayS;

// "http_api/enabled" for "http_api/listen": of the first listener that may have the URL.
std::string switch_of_listener(const Target& target) {
    const auto& paths = listeners_of(target).listeners;
    const auto found = std::ranges::find_if(paths, [&](std::string_view path) { return serves(target, path); });
    CHECK(found != paths.end());
    return std::string(found->substr(0, found->rfind('/'))) + "/enabled";
}

bool check_switches(const Facts& facts, Findings& findings) {
    for (const std::string_view path : listeners_of(facts.target).switches) {
        if (is_on(facts.snapshot, nullptr, path)) continue;
        findings.push_back(
            missing(facts, "protocol", fmt::format("{} is not enabled", name_of(facts.target)), "", path, "on"));
        return false;
    }
    if (addresses_of(facts.target, facts.snapshot).empty()) {
        findings.push_back(
            missing(facts, "protocol",
                    fmt::format("{} is asked for by HTTP, and no server is enabled for that", name_of(facts.target)),
                    "", switch_of_listener(facts.target), "on"));
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
    const service::url::CertificateFacts& certificate = *facts.certificate;
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

// The URL would have to be of TLS.
void add_without_tls(const Facts& facts, std::string text, Findings& findings) {
    Target right = facts.target;
    right.tls = true;
    const auto addresses = addresses_of(right, facts.snapshot);
    Finding finding = missing(facts, "page", std::move(text), "", "http_server/https/enabled", "on");
    if (!addresses.empty()) {
        right.port = addresses.front().address.port;
        finding.line.clear();
        finding.where.clear();
        finding.url = right.is_page ? "" : url_of(right, facts.snapshot);
        finding.advice = fmt::format("use https://, port {}", right.port);
    }
    findings.push_back(std::move(finding));
}

// Browsers give a camera only to pages that came encrypted, or from this machine.
void check_page(const Facts& facts, Findings& findings) {
    const Target& target = facts.target;
    if (!target.is_page || target.tls || target.action != net::Action::kPublish || is_of_this_machine(target.host))
        return;
    add_without_tls(facts, "browsers give no camera to a page that came by http://", findings);
}

// The pages below /players/ are the console's; those of WebRTC alone are there without it.
void check_page_service(const Facts& facts, Findings& findings) {
    if (!facts.target.is_page || is_on(facts.snapshot, nullptr, "console/enabled")) return;
    findings.push_back(
        missing(facts, "page", "the console is off, which has the pages of players", "", "console/enabled", "on"));
    findings.back().verdict = Verdict::kWarn;
}

// They take nothing that is not encrypted into a page that is.
void check_mixed_content(const Facts& facts, Findings& findings) {
    const Target& target = facts.target;
    const bool is_by_http = !target.protocol->extensions.empty() || !target.protocol->paths.empty();
    if (!facts.page.starts_with("https://") || !is_by_http || target.tls || is_of_this_machine(target.host)) return;
    add_without_tls(facts, "browsers load nothing by http:// into a page that came by https://", findings);
}

}  // namespace

bool check_addresses(const Facts& facts, Findings& findings) {
    if (!check_switches(facts, findings)) return false;
    check_port(facts, findings);
    check_host(facts, findings);
    check_certificate(facts, findings);
    check_page(facts, findings);
    check_page_service(facts, findings);
    check_mixed_content(facts, findings);
    return true;
}

}  // namespace server::why
