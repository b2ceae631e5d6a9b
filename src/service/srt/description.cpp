#include "service/description.h"

#include "service/srt/config.h"
#include "service/srt/metrics.h"
#include "service/srt/push_offer.h"
#include "service/srt/service.h"
#include "service/srt/urls.h"

namespace service::srt {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    parts.offers.pushes.push_back(push_offer());
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate);
    // Users of the offer may outlive the service.
    parts.offers.fetches.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        const auto srt = weak.lock();
        return srt ? srt->pulls().fetching(key) : Fetching::kNever;
    });
    parts.offers.relays.push_back([service = service.get()](const RelayVisit& visit) {
        for (const auto& pull : service->pulls().list()) visit(relay::relayed_of(*pull, "ingest"));
    });
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    return module_of("srt", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "srt", .section = section(), .features = {"srt"}, .urls = url_part, .make = make};
    return kDescription;
}

}  // namespace service::srt
