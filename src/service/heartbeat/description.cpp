#include "service/description.h"

#include "service/heartbeat/config.h"
#include "service/heartbeat/service.h"

namespace service::heartbeat {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto post = [&client = parts.http_client](const std::string& url, const std::string& body,
                                              const std::string& authorization, runtime::Deadline deadline) {
        return client.post_json(url, body, deadline, authorization);
    };
    auto summaries = [&offers = parts.offers] { return offers.summaries ? offers.summaries() : "{}"; };
    return module_of("heartbeat", std::make_shared<Service>(snapshot, std::move(post), std::move(summaries),
                                                            parts.identity.service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "heartbeat", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::heartbeat
