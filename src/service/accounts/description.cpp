#include "service/description.h"

#include "service/accounts/config.h"
#include "service/accounts/service.h"

namespace service::accounts {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    const auto& own = snapshot.get<ServerConfig>();
    std::vector<OutputFile> files;
    const auto add = [&](bool enabled, const char* block, const std::string& path) {
        const std::string directive = std::string(block) + "/path";
        if (enabled) files.push_back({directive, path, true, snapshot.location_of("", directive)});
    };
    add(own.access_log.enabled, "access_log", own.access_log.path);
    add(own.audit_log.enabled, "audit_log", own.audit_log.path);
    add(own.usage.enabled, "usage", own.usage.path);
    return files;
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.sessions);
    Service* const made = service.get();
    parts.offers.audit = [made](const net::AuditEvent& event) { made->audit(event); };
    parts.offers.past_sessions = [made](const net::SessionQuery& query) { return made->past_sessions(query); };
    if (snapshot->get<ServerConfig>().usage.enabled) parts.offers.usage = &made->ledger();
    parts.offers.metrics.push_back([made](prometheus::Text& text) { made->write_metrics(text); });
    return module_of("accounts", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "accounts", .section = section(), .outputs = outputs, .make = make};
    return kDescription;
}

}  // namespace service::accounts
