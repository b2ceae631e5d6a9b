#include "service/console/config.h"

#include <algorithm>

#include "config/row_builder.h"

namespace service::console {
namespace {

constexpr size_t kMaxSites = 64, kMaxSiteBytes = 256;

// A host-source of CSP (CSP3, 2.3.1) without a path: https://*.example.com:8443. It stands in a header, where other
// characters would end it or begin another directive.
bool is_site(std::string_view site) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (!site.starts_with(scheme)) continue;
        site.remove_prefix(scheme.size());
        break;
    }
    if (site == "*") return true;
    if (site.starts_with("*.")) site.remove_prefix(2);
    if (site.ends_with(":*")) site.remove_suffix(2);  // every port
    constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]";
    const bool fits = site.find_first_not_of(kCharacters) == site.npos;
    return !site.empty() && site.size() <= kMaxSiteBytes && site.front() != ':' && fits;
}

void check(config::Checks& checks) {
    const auto& sites = checks.snapshot().get<ServerConfig>().embed_sites;
    if (sites == std::vector<std::string>{"none"}) return;
    if (sites.size() > kMaxSites || !std::ranges::all_of(sites, is_site))
        checks.error("console/embed_sites",
                     "embed_sites are *, none, or up to 64 origins as https://example.com, https://*.example.com:8443");
}

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"console", kOfServer<ServerConfig>};
    using C = ServerConfig;
    rows.push_back(row(scope, "enabled", &C::enabled, none(), kLive,
                       "Console and players, on the ports of http_server and http_api."));
    rows.push_back(row(scope, "dir", &C::dir, none(), kLive, "The directory into which make console puts them."));
    rows.push_back(row(scope, "embed_sites", &C::embed_sites, none(), kLive,
                       "Sites whose pages may show /players/embed.html in a frame: *, none, or origins.",
                       "https://example.com https://*.example.org"));
}

}  // namespace

config::Section section() { return {.service = "console", .add_rows = add_rows, .check = check}; }

}  // namespace service::console
