// Which vhost the URL names, whether the protocol is enabled in it, and whether it serves streams at such a path.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/ip.h"
#include "base/text.h"
#include "config/nearest.h"
#include "server/why/config_line.h"
#include "server/why/evaluate.h"

namespace server::why {
namespace {

// The switch of the protocol in a vhost; empty: it needs none.
std::string_view vhost_switch_of(const Target& target) {
    switch (target.protocol) {
        case Protocol::kRtmp:
            return {};
        case Protocol::kHttpLive:
            return "vhost/http_remux/enabled";
        case Protocol::kHls:
            return "vhost/hls/enabled";
        case Protocol::kDash:
            return "vhost/dash/enabled";
        case Protocol::kWebrtc:
            return "vhost/rtc/enabled";
        case Protocol::kRtsp:
            return "vhost/rtsp/enabled";
        case Protocol::kSrt:
            return "vhost/srt/enabled";
    }
    return {};
}

std::string near_vhost(const config::Snapshot& snapshot, const std::string& named) {
    std::vector<std::string_view> names;
    for (const config::Vhost& vhost : snapshot.vhosts)
        if (vhost.enabled) names.push_back(vhost.name);
    const config::Nearest near = config::nearest(named, names);
    return near.close ? std::string(near.name) : std::string();
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
    const std::string near = near_vhost(snapshot, named);
    const bool is_address = base::IpAddress::parse(named).has_value() || named == "localhost";
    findings.push_back(
        {.check = "vhost",
         .verdict = Verdict::kBad,
         .text = fmt::format("there is no vhost {}{}, and no {} for all other names", shown,
                             near.empty() ? "" : fmt::format(" (did you mean {}?)", near), config::kDefaultVhost),
         .line = fmt::format("vhost {} {{ }}", is_address ? std::string(config::kDefaultVhost) : shown),
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
    const std::string_view directive = target.protocol == Protocol::kHttpLive ? "vhost/http_remux/mount"
                                       : target.protocol == Protocol::kHls    ? "vhost/hls/hls_m3u8_file"
                                                                              : "vhost/dash/dash_mpd_file";
    finding.advice = fmt::format("{} says where streams are", directive);
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
    const std::string_view path = vhost_switch_of(target);
    if (!path.empty() && !is_on(facts.snapshot, vhost, path))
        findings.push_back(missing(facts, "protocol of the vhost",
                                   fmt::format("{} is not enabled in vhost {}", name_of(target), vhost->name),
                                   vhost->name, path, "on"));
    if (target.protocol == Protocol::kRtsp && target.action == net::Action::kPublish &&
        !is_on(facts.snapshot, vhost, "vhost/rtsp/publish"))
        findings.push_back(missing(facts, "protocol of the vhost", "nobody publishes by RTSP in this vhost",
                                   vhost->name, "vhost/rtsp/publish", "on"));
    check_path(facts, *vhost, findings);
    return true;
}

}  // namespace server::why
