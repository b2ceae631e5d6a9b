// Who may publish and play: rules by address and page, signatures, passwords, hooks, limits. The rules are evaluated by
// the guards of the gate that have them; hooks are named, and not asked.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/redaction.h"
#include "net/access/access_rules.h"
#include "net/access/hmac.h"
#include "net/access/signed_urls.h"
#include "server/why/config_line.h"
#include "server/why/evaluate.h"
#include "service/hook/caller.h"
#include "service/hook/config.h"
#include "service/rtsp/config.h"
#include "service/srt/config.h"

namespace server::why {
namespace {

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

std::string with_word(const std::vector<std::string>& words, const std::string& more) {
    std::string all;
    for (const std::string& word : words) all += word + " ";
    return all + more;
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
    } else {
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

void check_passphrase(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    if (facts.target.protocol != Protocol::kSrt) return;
    const auto& srt = vhost.get<service::srt::VhostConfig>();
    const std::string& wanted = service::srt::passphrase_of(facts.snapshot.get<service::srt::ServerConfig>(), srt);
    const std::string& given = facts.target.passphrase;
    if (srt.passphrase_by_hook) {
        findings.push_back(
            {.check = "passphrase", .verdict = Verdict::kUnknown, .text = "a hook says which passphrase is needed"});
    } else if (wanted.empty() && given.empty()) {
        return;
    } else if (wanted.empty()) {
        findings.push_back(missing(facts, "passphrase", "the URL has a passphrase, the server has none: it refuses",
                                   vhost.name, "vhost/srt/passphrase", "THE-URLS-PASSPHRASE"));
        findings.back().advice = "or leave passphrase= out of the URL";
    } else if (net::equal_in_constant_time(wanted, given)) {
        findings.push_back({.check = "passphrase", .text = "the passphrase is the server's"});
    } else {
        findings.push_back({.check = "passphrase",
                            .verdict = Verdict::kBad,
                            .text = given.empty() ? "the server needs a passphrase, the URL has none"
                                                  : "the URL has another passphrase than the server",
                            .advice = "add &passphrase= with that of vhost/srt or srt_server"});
    }
}

void check_password(const Facts& facts, Findings& findings) {
    if (facts.target.protocol != Protocol::kRtsp) return;
    const auto& auth = facts.snapshot.get<service::rtsp::ServerConfig>().auth;
    if (!auth.enabled) return;
    const Target& target = facts.target;
    const bool has_both = net::equal_in_constant_time(target.user, auth.username) &&
                          net::equal_in_constant_time(target.password, auth.password);
    if (has_both) {
        findings.push_back({.check = "password", .text = "name and password are the server's"});
        return;
    }
    findings.push_back({.check = "password",
                        .verdict = Verdict::kBad,
                        .text = target.user.empty()
                                    ? "rtsp_server has auth enabled, and the URL has no name and password"
                                    : "the URL has another name or password than rtsp_server's auth",
                        .advice = "rtsp://NAME:PASSWORD@HOST/..."});
}

// Why one of the hook's hosts is taken for down; null: none is.
const std::string* problem_of(const Facts& facts, const std::vector<std::string>& urls) {
    if (!facts.live) return nullptr;
    for (const auto& [host, problem] : facts.live->hooks_down)
        for (const std::string& url : urls)
            if (service::hook::target_of(url) == host) return &problem;
    return nullptr;
}

void add_hook(const Facts& facts, const config::Vhost& vhost, service::hook::Hook hook, Findings& findings) {
    const auto& hooks = vhost.get<service::hook::VhostConfig>();
    const auto& urls = service::hook::urls_of(hook, hooks);
    if (!hooks.enabled || urls.empty()) return;
    std::string shown;
    for (const std::string& url : urls) shown += (shown.empty() ? "" : " ") + base::bare_url(url);
    const std::string_view name = hook_name(hook);
    const bool is_open = std::ranges::find(hooks.fail_open, name) != hooks.fail_open.end();
    const std::string* problem = problem_of(facts, urls);
    if (problem && !is_open && hooks.on_failure == "deny") {
        findings.push_back(
            missing(facts, "hook", fmt::format("{} asks {}, which does not answer: {}", name, shown, *problem),
                    vhost.name, "vhost/http_hooks/fail_open", with_word(hooks.fail_open, std::string(name))));
        findings.back().advice = "start that server; the line admits clients while it does not answer";
        return;
    }
    findings.push_back({.check = "hook",
                        .verdict = Verdict::kUnknown,
                        .text = fmt::format("{} asks {}, which was not asked now; without an answer {}", name, shown,
                                            is_open ? "the client is admitted (fail_open)"
                                                    : fmt::format("on_failure is {}", hooks.on_failure)),
                        .advice = "GET /api/v1/hooks says whether it answers, the log whom it refused"});
}

void check_hooks(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    using service::hook::Hook;
    if (facts.target.protocol == Protocol::kRtmp) add_hook(facts, vhost, Hook::kOnConnect, findings);
    add_hook(facts, vhost, facts.target.action == net::Action::kPublish ? Hook::kOnPublish : Hook::kOnPlay, findings);
}

void check_limits(const Facts& facts, Findings& findings) {
    if (!facts.live) return;
    const Live& live = *facts.live;
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
    check_passphrase(facts, vhost, findings);
    check_password(facts, findings);
    check_hooks(facts, vhost, findings);
    check_limits(facts, findings);
}

}  // namespace server::why
