#include "service/hook/urls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/redaction.h"
#include "service/hook/caller.h"
#include "service/hook/config.h"

namespace service::hook {
namespace {

// Why one of the hook's hosts is taken for down; null: none is.
const std::string* problem_of(const url::Facts& facts, const std::vector<std::string>& urls) {
    if (!facts.live) return nullptr;
    for (const StreamOutput& output : facts.live->failing_outputs)
        for (const std::string& one : urls)
            if (output.output == "hook" && target_of(one) == output.to) return &output.problem;
    return nullptr;
}

void add_hook(const url::Facts& facts, const config::Vhost& vhost, Hook hook, url::Findings& findings) {
    const auto& hooks = vhost.get<VhostConfig>();
    const auto& urls = urls_of(hook, hooks);
    if (urls.empty()) return;
    std::string shown;
    for (const std::string& one : urls) shown += (shown.empty() ? "" : " ") + base::bare_url(one);
    const std::string_view name = hook_name(hook);
    const bool is_open = std::ranges::find(hooks.fail_open, name) != hooks.fail_open.end();
    const std::string* problem = problem_of(facts, urls);
    if (problem && !is_open && hooks.on_failure == "deny") {
        findings.push_back(
            missing(facts, "hook", fmt::format("{} asks {}, which does not answer: {}", name, shown, *problem),
                    vhost.name, "vhost/http_hooks/fail_open", url::with_word(hooks.fail_open, std::string(name))));
        findings.back().advice = "start that server; the line admits clients while it does not answer";
        return;
    }
    findings.push_back({.check = "hook",
                        .verdict = url::Verdict::kUnknown,
                        .text = fmt::format("{} asks {}, which was not asked now; without an answer {}", name, shown,
                                            is_open ? "the client is admitted (fail_open)"
                                                    : fmt::format("on_failure is {}", hooks.on_failure)),
                        .advice = "GET /api/v1/hooks says whether it answers, the log whom it refused"});
}

// on_connect is asked by the protocol of the scheme rtmp alone.
bool connects(const url::Target& target) {
    return std::ranges::find(target.protocol->schemes, "rtmp") != target.protocol->schemes.end();
}

void check_client_of_url(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    if (!vhost.get<VhostConfig>().enabled) return;
    const size_t before = findings.size();
    if (connects(facts.target)) add_hook(facts, vhost, Hook::kOnConnect, findings);
    add_hook(facts, vhost, facts.target.action == net::Action::kPublish ? Hook::kOnPublish : Hook::kOnPlay, findings);
    if (findings.size() == before)
        findings.push_back(
            {.check = "hook", .text = fmt::format("no hook is asked about {}", action_name(facts.target.action))});
    findings.back().keeps_from_playing = "the vhost's hooks would be asked";
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{.check_client = check_client_of_url};
    return &kPart;
}

}  // namespace service::hook
