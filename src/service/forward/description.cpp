#include "service/description.h"

#include "service/forward/config.h"
#include "service/forward/service.h"

namespace service::forward {
namespace {

void visit_outputs(const Service& service, const live::StreamKey* only, const OutputVisit& visit) {
    for (const auto& push : service.pushes())
        if (!push->ending() && (only ? push->key() == *only : push->fails()))
            visit(push->key(), relay::output_of(*push, "forward", push->target().shown));
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto post = [&client = parts.http_client](const std::string& url, const std::string& body,
                                              runtime::Deadline deadline) {
        return client.post_json(url, body, deadline);
    };
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, std::move(post),
                                             parts.identity.service, parts.offers.pushes);
    parts.offers.outputs.push_back([service = service.get()](const live::StreamKey* only, const OutputVisit& visit) {
        visit_outputs(*service, only, visit);
    });
    parts.offers.relays.push_back([service = service.get()](const RelayVisit& visit) {
        for (const auto& push : service->pushes())
            if (!push->ending()) visit(relay::relayed_of(*push, "forward"));
    });
    return module_of("forward", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "forward", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::forward
