#include "service/description.h"

#include <fmt/format.h>

#include "service/forward/config.h"
#include "service/forward/service.h"

namespace service::forward {
namespace {

std::vector<OutputProblem> problems_of(const Service& service, const live::StreamKey& key) {
    std::vector<OutputProblem> problems;
    for (const auto& push : service.pushes())
        if (push->key() == key && !push->problem().empty() && !push->ending())
            problems.push_back({"forward", fmt::format("to {}: {}", push->target().shown, push->problem())});
    return problems;
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto post = [&client = parts.http_client](const std::string& url, const std::string& body,
                                              runtime::Deadline deadline) {
        return client.post_json(url, body, deadline);
    };
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, std::move(post),
                                             parts.identity.service, parts.offers.pushes);
    parts.offers.output_problems.push_back(
        [service = service.get()](const live::StreamKey& key) { return problems_of(*service, key); });
    return module_of("forward", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "forward", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::forward
