// Who may publish and play in every protocol: rules by address and page, signatures, limits. The rules are evaluated by
// the guards of the gate that have them.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "net/access/access_rules.h"
#include "net/access/signed_urls.h"
#include "server/why/evaluate.h"

namespace server::why {
namespace {

using service::url::config_line;
using service::url::where_to;
using service::url::with_word;

net::Visitor visitor_of(const Facts& facts, const config::Vhost& vhost) {
    net::Visitor visitor;
    visitor.action = facts.target.action;
    visitor.ip = facts.ip;
    visitor.vhost = vhost.name;
    visitor.app = facts.target.app;
    visitor.stream = facts.target.stream;
    visitor.param = facts.target.param;
    visitor.page_url = facts.page;
    return visitor;
}

void check_rules(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    if (!vhost.security.enabled) return;
    const net::Action action = facts.target.action;
    const auto allowed = net::check_address(vhost.security, action, facts.ip);
    if (allowed) {
        findings.push_back(
            {.check = "address", .text = fmt::format("{} from {} is allowed", action_name(action), facts.ip)});
        return;
    }
    Finding finding{.check = "address", .verdict = Verdict::kBad, .text = allowed.error().text()};
    // A deny has precedence: where one more allow does not help, the deny has to go.
    config::VhostSecurity more = vhost.security;
    if (const auto address = base::IpAddress::parse(facts.ip))
        more.allow.push_back({action == net::Action::kPublish, base::IpNetwork(*address, 128)});
    if (net::check_address(more, action, facts.ip)) {
        const std::string rule = fmt::format("{} {}", action_name(action), facts.ip);
        finding.line = config_line(facts.snapshot, vhost.name, "vhost/security/allow", rule);
        finding.where = where_to(facts.snapshot, vhost.name, "vhost/security/enabled");
        if (finding.where.starts_with("instead of ")) finding.where.replace(0, 10, "beside");
    } else {
        finding.where = where_to(facts.snapshot, vhost.name, "vhost/security/deny");
        if (finding.where.starts_with("instead of ")) finding.where.replace(0, 10, "near");
        finding.advice = "remove that deny: it has precedence over every allow";
    }
    findings.push_back(std::move(finding));
}

void check_page_rules(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    if (!vhost.refer.enabled) return;
    const net::Action action = facts.target.action;
    const auto allowed = net::check_refer(vhost.refer, action, facts.page);
    if (allowed) {
        findings.push_back({.check = "refer", .text = "the web page is one of those of refer"});
        return;
    }
    Finding finding{.check = "refer", .verdict = Verdict::kBad, .text = allowed.error().text()};
    const std::string host = net::page_host(facts.page);
    if (host.empty()) {
        finding.advice =
            "players without a page are refused; ask again with the page's address (--page) for those of one";
    } else if (is_host_name(host)) {
        // The list that refuses it.
        config::VhostRefer alone = vhost.refer;
        alone.publish.clear();
        alone.play.clear();
        const bool by_all = !net::check_refer(alone, action, facts.page);
        const bool publishes = action == net::Action::kPublish;
        const std::string path = std::string("vhost/refer/") + (by_all ? "all" : publishes ? "publish" : "play");
        const auto& present = by_all ? vhost.refer.all : publishes ? vhost.refer.publish : vhost.refer.play;
        finding.line = config_line(facts.snapshot, vhost.name, path, with_word(present, host));
        finding.where = where_to(facts.snapshot, vhost.name, path);
    }
    findings.push_back(std::move(finding));
}

void check_signature(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    const bool publishes = facts.target.action == net::Action::kPublish;
    if (!vhost.signed_urls.enabled || !(publishes ? vhost.signed_urls.publish : vhost.signed_urls.play)) return;
    const auto valid = net::SignedUrls().admit(visitor_of(facts, vhost), vhost);
    if (valid) {
        findings.push_back({.check = "signature", .text = "the URL's signature is valid"});
        return;
    }
    Finding finding = missing(facts, "signature", valid.error().text(), vhost.name,
                              publishes ? "vhost/signed_urls/publish" : "vhost/signed_urls/play", "off");
    finding.advice = "sign the URL (doc/hooks.md); the line lets everybody in without";
    findings.push_back(std::move(finding));
}

void check_limits(const Facts& facts, Findings& findings) {
    if (!facts.live) return;
    const service::url::Live& live = *facts.live;
    if (live.max_connections > 0 && live.connections >= live.max_connections) {
        const size_t more = live.max_connections * 2;
        findings.push_back(missing(facts, "limits", fmt::format("all {} connections are in use", live.max_connections),
                                   "", "max_connections", std::to_string(more)));
    } else if (live.load == net::LoadLevel::kDying && facts.target.action == net::Action::kPlay) {
        findings.push_back({.check = "limits",
                            .verdict = Verdict::kBad,
                            .text = "the server is overloaded, and admits no further players (circuit_breaker)",
                            .advice = "spread players over edges: doc/edge.md"});
    } else {
        findings.push_back(
            {.check = "limits",
             .text = fmt::format("{} of {} connections are in use", live.connections, live.max_connections)});
    }
}

}  // namespace

void check_access(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    check_rules(facts, vhost, findings);
    check_page_rules(facts, vhost, findings);
    check_signature(facts, vhost, findings);
    check_limits(facts, findings);
}

}  // namespace server::why
