// Which vhost the URL names, whether the protocol is enabled in it, and whether it serves streams at such a path.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/ip.h"
#include "base/text.h"
#include "config/nearest.h"
#include "server/why/evaluate.h"
#include "server/why/target.h"
#include "service/url/protocol.h"

namespace server::why {
namespace {

std::string near_vhost(const config::Snapshot& snapshot, const std::string& named) {
    std::vector<std::string_view> names;
    for (const config::Vhost& vhost : snapshot.vhosts)
        if (vhost.enabled) names.push_back(vhost.name);
    const config::Nearest near = config::nearest(named, names);
    return near.close ? std::string(near.name) : std::string();
}

// A vhost that is probably meant to be __defaultVhost__, without its underscores; empty: none.
std::string misspelt_default(const config::Snapshot& snapshot) {
    const auto bare = [](std::string_view name) {
        std::string text = base::lower(name);
        std::erase(text, '_');
        return text;
    };
    for (const config::Vhost& vhost : snapshot.vhosts)
        if (bare(vhost.name) == bare(config::kDefaultVhost)) return vhost.name;
    return {};
}

void add_no_vhost(const Facts& facts, Findings& findings) {
    const config::Snapshot& snapshot = facts.snapshot;
    const std::string& named = facts.target.vhost;
    const std::string shown = base::for_log(named);
    const config::Vhost* disabled = snapshot.find_vhost(named);
    if (!disabled) disabled = snapshot.find_vhost(config::kDefaultVhost);
    if (disabled) {
        findings.push_back(missing(facts, "vhost", fmt::format("vhost {} is not enabled", disabled->name),
                                   disabled->name, "vhost/enabled", "on"));
        return;
    }
    std::string near = near_vhost(snapshot, named);
    if (near.empty()) near = misspelt_default(snapshot);
    const bool is_address = base::IpAddress::parse(named).has_value() || named == "localhost";
    const std::string written = is_address ? std::string(config::kDefaultVhost) : named;
    findings.push_back(
        {.check = "vhost",
         .verdict = Verdict::kBad,
         .text = fmt::format("there is no vhost {}{}, and no {} for all other names", shown,
                             near.empty() ? "" : fmt::format(" (there is {})", near), config::kDefaultVhost),
         .line = is_host_name(written) ? fmt::format("vhost {} {{ }}", written) : "",
         .advice = "the vhost is the host of the URL, or its parameter vhost="});
}

void check_path(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    const Target& target = facts.target;
    if (target.is_mounted) return;
    Target right = target;
    if (right.app.empty()) right.app = "live";
    Finding finding{.check = "path",
                    .verdict = Verdict::kBad,
                    .text = fmt::format("vhost {} has no {} at such a path", vhost.name, name_of(target)),
                    .url = url_of(right, facts.snapshot)};
    finding.advice = fmt::format("{} says where streams are", target.protocol->path_directive);
    findings.push_back(std::move(finding));
}

}  // namespace

bool check_vhost(const Facts& facts, Findings& findings) {
    const Target& target = facts.target;
    const config::Vhost* vhost = facts.snapshot.vhost(target.vhost);
    if (!vhost) {
        add_no_vhost(facts, findings);
        return false;
    }
    findings.push_back({.check = "vhost",
                        .text = vhost->name == target.vhost ? fmt::format("vhost {}", vhost->name)
                                                            : fmt::format("vhost {}, which stands for {}", vhost->name,
                                                                          base::for_log(target.vhost))});
    const std::string_view path = target.protocol->vhost_switch;
    if (!path.empty() && !service::url::is_on(facts.snapshot, vhost, path))
        findings.push_back(missing(facts, "protocol of the vhost",
                                   fmt::format("{} is not enabled in vhost {}", name_of(target), vhost->name),
                                   vhost->name, path, "on"));
    check_path(facts, *vhost, findings);
    return true;
}

}  // namespace server::why
