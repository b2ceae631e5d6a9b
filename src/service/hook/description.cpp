#include "service/description.h"

#include "service/hook/config.h"
#include "service/hook/metrics.h"
#include "service/hook/service.h"

namespace service::hook {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service =
        std::make_shared<Service>(snapshot, parts.gate, parts.events, parts.registry, parts.identity.service);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(service->stats(), text); });
    return module_of("hook", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "hook", .section = section(), .features = {"callback"}, .make = make};
    return kDescription;
}

}  // namespace service::hook
