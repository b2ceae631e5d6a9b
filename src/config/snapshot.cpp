#include "config/snapshot.h"

#include <fmt/format.h>

#include "config/load.h"

namespace config {

const Vhost* Snapshot::find_vhost(std::string_view name) const {
    for (const Vhost& vhost : vhosts) {
        if (vhost.name == name) return &vhost;
    }
    return nullptr;
}

const Vhost* Snapshot::vhost(std::string_view name) const {
    const Vhost* found = find_vhost(name);
    if (!found) found = find_vhost(kDefaultVhost);
    return found && found->enabled ? found : nullptr;
}

std::string Snapshot::where(std::string_view path) const {
    auto found = origins.find({"", std::string(path)});
    return found == origins.end() ? "default" : found->second.text();
}

Location Snapshot::location_of(std::string_view vhost, std::string_view path) const {
    auto found = origins.find({std::string(vhost), std::string(path)});
    if (found == origins.end() && path.rfind('/') != path.npos)
        found = origins.find({std::string(vhost), std::string(path.substr(0, path.rfind('/'))) + "/enabled"});
    return found == origins.end() ? Location{"configuration", 0} : found->second;
}

base::log::Level Snapshot::log_level() const {
    using base::log::Level;
    struct Named {
        std::string_view name;
        Level level;
    };
    // The usual names are shifted by one level: their trace is our verbose, their info our trace.
    static constexpr Named kUsual[] = {{"trace", Level::kVerbose}, {"debug", Level::kInfo},  {"info", Level::kTrace},
                                       {"warn", Level::kWarn},     {"error", Level::kError}, {"off", Level::kOff}};
    static constexpr Named kOurs[] = {{"verbose", Level::kVerbose}, {"info", Level::kInfo},   {"trace", Level::kTrace},
                                      {"warn", Level::kWarn},       {"error", Level::kError}, {"off", Level::kOff}};
    bool usual = !global.srs_log_level_v2.empty();
    for (const Named& named : usual ? kUsual : kOurs) {
        if (named.name == (usual ? global.srs_log_level_v2 : global.srs_log_level)) return named.level;
    }
    return Level::kTrace;
}

SnapshotPtr default_snapshot() {
    LoadInput input;
    input.path = "the defaults";
    input.read = [](const std::string&) { return fmt::format("listen 1935; vhost {} {{ }}", kDefaultVhost); };
    Loaded loaded = load(input);
    CHECK(loaded.snapshot != nullptr);
    return loaded.snapshot;
}

}  // namespace config
