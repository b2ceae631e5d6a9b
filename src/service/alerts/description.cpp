#include "service/description.h"

#include "service/alerts/config.h"
#include "service/alerts/service.h"

namespace service::alerts {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.registry, parts.sessions, parts.operations, parts.offers);
    // Users of the offer may outlive the service.
    parts.offers.other_process_changed.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        if (const auto alerts = weak.lock()) alerts->other_process_changed(key);
    });
    parts.api_rows.add(api_row(*service, parts.identity));
    return module_of("alerts", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "alerts", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::alerts
