#include <fmt/format.h>

#include <algorithm>

#include "config/directive.h"
#include "config/environment.h"
#include "config/value.h"
#include "service/url/finding.h"

namespace service::url {
namespace {

bool is_by_environment(const config::Snapshot& snapshot) {
    return !snapshot.origins.empty() &&
           std::ranges::none_of(snapshot.origins, [](const auto& origin) { return origin.second.line > 0; });
}

}  // namespace

std::string config_line(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path,
                        std::string_view value) {
    if (is_by_environment(snapshot)) {
        const config::Row* row = config::find_row(path);
        const auto names = row ? config::environment_names(*row) : std::vector<std::string>();
        if (!names.empty()) return fmt::format("{}={}", names.front(), value);
    }
    std::string head, tail;
    for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
        const std::string_view block = path.substr(0, slash);
        head += fmt::format("{} {}{{ ", block, block == "vhost" ? config::quote_if_needed(vhost) + " " : "");
        tail += " }";
        path.remove_prefix(slash + 1);
    }
    return value.empty() ? fmt::format("{}{}{}", head, path, tail) : fmt::format("{}{} {};{}", head, path, value, tail);
}

std::string where_to(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path) {
    const auto given = snapshot.origins.find({std::string(vhost), std::string(path)});
    if (given != snapshot.origins.end()) return "instead of " + given->second.text();
    if (vhost.empty()) return {};
    const config::Location* first = nullptr;
    for (auto at = snapshot.origins.lower_bound({std::string(vhost), ""});
         at != snapshot.origins.end() && at->first.first == vhost; ++at) {
        if (at->second.line > 0 && (!first || at->second.line < first->line)) first = &at->second;
    }
    return first ? fmt::format("in the vhost around {}", first->text()) : std::string();
}

}  // namespace service::url
