#include "service/description.h"

#include "service/api/service.h"

namespace service::api {
namespace {

std::vector<KeyPair> key_pairs(const config::Snapshot& snapshot) {
    const config::HttpApi& api = snapshot.http_api;
    if (!api.enabled || !api.https.enabled) return {};
    return {{"http_api/https", api.https.key, api.https.cert}};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts);
    parts.offers.summaries = [service = service.get()] { return service->summaries(); };
    // Users of the offers may outlive the service.
    parts.offers.metrics.push_back([weak = std::weak_ptr(service)](prometheus::Text& text) {
        if (const auto api = weak.lock()) api->write_metrics(text);
    });
    parts.offers.other_process_changed.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        if (const auto api = weak.lock()) api->other_process_changed(key);
    });
    return module_of("http_api", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "http_api", .features = {"api", "stat"}, .key_pairs = key_pairs, .make = make};
    return kDescription;
}

}  // namespace service::api
