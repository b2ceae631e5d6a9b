#include "service/description.h"

#include "service/forward/config.h"
#include "service/forward/service.h"

namespace service::forward {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto post = [&client = parts.http_client](const std::string& url, const std::string& body,
                                              runtime::Deadline deadline) {
        return client.post_json(url, body, deadline);
    };
    return module_of("forward", std::make_shared<Service>(snapshot, parts.sessions, parts.registry, std::move(post),
                                                          parts.identity.service, parts.offers.pushes));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "forward", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::forward
