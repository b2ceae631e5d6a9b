#include "net/access/access_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "config/value.h"

namespace net {

using base::CloseReason;
using base::Result;

namespace {

const config::AccessRule* find_rule(const config::AccessRules& rules, Action action,
                                    const std::optional<base::IpAddress>& address) {
    auto fits = [&](const config::AccessRule& rule) {
        if (rule.publish != (action == Action::kPublish)) return false;
        return rule.network.is_everything() || (address && rule.network.contains(*address));
    };
    auto found = std::ranges::find_if(rules, fits);
    return found == rules.end() ? nullptr : &*found;
}

std::string_view without_dots(std::string_view domain) {
    while (domain.starts_with('.')) domain.remove_prefix(1);
    while (domain.ends_with('.')) domain.remove_suffix(1);
    return domain;
}

bool is_of(std::string_view host, const std::vector<std::string>& domains) {
    return std::ranges::any_of(domains, [&](const std::string& given) {
        const std::string domain = base::lower(without_dots(given));
        if (domain.empty() || !host.ends_with(domain)) return false;
        return host.size() == domain.size() || host[host.size() - domain.size() - 1] == '.';
    });
}

}  // namespace

Result<void> check_address(const config::VhostSecurity& security, Action action, std::string_view ip) {
    if (!security.enabled) return {};
    const auto address = base::IpAddress::parse(ip);
    if (const auto* rule = find_rule(security.deny, action, address))
        return base::fail(CloseReason::kRefusedAddress,
                          fmt::format("{} from {} is denied by the rule deny {}", action_name(action), ip,
                                      config::ValueType<config::AccessRules>::text({*rule})));
    if (find_rule(security.allow, action, address)) return {};
    if (security.allow.empty() && !security.deny.empty()) return {};
    return base::fail(CloseReason::kRefusedAddress, fmt::format("{} from {} is allowed by none of {} rules",
                                                                action_name(action), ip, security.allow.size()));
}

Result<void> check_play(const config::Vhost& vhost, std::string_view ip, std::string_view page_url) {
    TRY(check_address(vhost.security, Action::kPlay, ip));
    return check_refer(vhost.refer, Action::kPlay, page_url);
}

bool is_media_file(std::string_view path) {
    static constexpr std::string_view kEndings[] = {".flv", ".mp4", ".m4s", ".m4a", ".m4v",  ".ts", ".m3u8",
                                                    ".mpd", ".aac", ".mp3", ".mkv", ".webm", ".key"};
    const std::string name = base::lower(path);
    return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

std::string_view page_of(const http::Headers& headers) {
    std::string_view page = headers.get("Referer");
    return page.empty() ? headers.get("Origin") : page;
}

std::string page_host(std::string_view page_url) {
    if (size_t scheme = page_url.find("://"); scheme != page_url.npos) page_url.remove_prefix(scheme + 3);
    page_url = page_url.substr(0, page_url.find_first_of("/?#\\"));
    if (size_t user = page_url.rfind('@'); user != page_url.npos) page_url.remove_prefix(user + 1);
    if (page_url.starts_with('[')) return base::lower(page_url.substr(0, page_url.find(']') + 1));
    return base::lower(without_dots(page_url.substr(0, page_url.find(':'))));
}

Result<void> check_refer(const config::VhostRefer& refer, Action action, std::string_view page_url) {
    if (!refer.enabled) return {};
    const auto& own = action == Action::kPublish ? refer.publish : refer.play;
    const std::string host = page_host(page_url);
    if ((refer.all.empty() || is_of(host, refer.all)) && (own.empty() || is_of(host, own))) return {};
    return base::fail(CloseReason::kRefusedRefer,
                      host.empty() ? fmt::format("{} without a web page, where refer asks for one", action_name(action))
                                   : fmt::format("{} from the web page of {} is not allowed (refer)",
                                                 action_name(action), host.substr(0, 200)));
}

}  // namespace net
