#include "service/description.h"

#include "service/edge/config.h"
#include "service/edge/report.h"
#include "service/edge/service.h"

namespace service::edge {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(parts, snapshot);
    // Users of the offer may outlive the service.
    parts.offers.fetches.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        const auto edge = weak.lock();
        return edge ? edge->pulls().fetching(key) : Fetching::kNever;
    });
    parts.offers.other_process_changed.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        if (const auto edge = weak.lock()) edge->other_process_changed(key);
    });
    parts.offers.passes_up = [](const config::Vhost& vhost) { return vhost.get<VhostConfig>().is_edge(); };
    parts.offers.outputs.push_back([service = service.get()](const live::StreamKey* only, const OutputVisit& visit) {
        for (const auto& push : service->pushes().list())
            if (!push->ending() && (only ? push->key() == *only : push->fails()))
                visit(push->key(), relay::output_of(*push, "edge", push->server()));
    });
    parts.offers.relays.push_back([service = service.get()](const RelayVisit& visit) {
        for (const auto& [key, pull] : service->pulls().list())
            if (pull->server() != kOtherProcess) visit(relay::relayed_of(*pull, "pull"));
        for (const auto& push : service->pushes().list())
            if (!push->ending()) visit(relay::relayed_of(*push, "push"));
    });
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    parts.api_rows.add(api_row(*service, parts.identity));
    return module_of("edge", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "edge", .section = section(), .features = {"edge"}, .make = make};
    return kDescription;
}

}  // namespace service::edge
