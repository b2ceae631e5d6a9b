#include "service/description.h"

#include "service/rtsp/config.h"
#include "service/rtsp/metrics.h"
#include "service/rtsp/record_link.h"
#include "service/rtsp/service.h"
#include "service/rtsp/urls.h"

namespace service::rtsp {
namespace {

std::vector<KeyPair> key_pairs(const config::Snapshot& snapshot) {
    const auto& server = snapshot.get<ServerConfig>();
    if (!server.enabled || !server.rtsps.enabled) return {};
    return {{"rtsp_server/rtsps", server.rtsps.key, server.rtsps.cert}};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    parts.offers.pushes.push_back(push_offer());
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate, parts.offers,
                                             parts.identity.signature);
    // Users of the offer may outlive the service.
    parts.offers.fetches.push_back([weak = std::weak_ptr(service)](const live::StreamKey& key) {
        const auto rtsp = weak.lock();
        return rtsp ? rtsp->cameras().fetching(key) : Fetching::kNever;
    });
    parts.offers.relays.push_back([service = service.get()](const RelayVisit& visit) {
        for (const auto& camera : service->cameras().list()) visit(relay::relayed_of(*camera, "ingest"));
    });
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    return module_of("rtsp", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "rtsp",
                                          .section = section(),
                                          .features = {"rtsp"},
                                          .key_pairs = key_pairs,
                                          .urls = url_part,
                                          .make = make};
    return kDescription;
}

}  // namespace service::rtsp
