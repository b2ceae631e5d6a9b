#include "service/description.h"

#include "service/hook/api.h"
#include "service/hook/config.h"
#include "service/hook/metrics.h"
#include "service/hook/service.h"
#include "service/hook/urls.h"

namespace service::hook {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    for (const config::Vhost& vhost : snapshot.vhosts) {
        const auto& hooks = vhost.get<VhostConfig>();
        if (vhost.enabled && hooks.enabled && hooks.outbox)
            return {{"hook_outbox", snapshot.get<ServerConfig>().hook_outbox, false,
                     snapshot.location_of("", "hook_outbox")}};
    }
    return {};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service =
        std::make_shared<Service>(snapshot, parts.gate, parts.events, parts.registry, parts.identity.service);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    parts.offers.outputs.push_back([service = service.get()](const live::StreamKey* only, const OutputVisit& visit) {
        service->visit_outputs(only, visit);
    });
    parts.offers.report_alert = [service = service.get()](const Alert& alert) { service->report_alert(alert); };
    parts.api_rows.add(api_row(*service, parts.identity));
    return module_of("hook", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "hook",
                                          .section = section(),
                                          .features = {"callback"},
                                          .outputs = outputs,
                                          .urls = url_part,
                                          .make = make};
    return kDescription;
}

}  // namespace service::hook
