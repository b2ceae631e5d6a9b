#include "service/description.h"

#include "service/http_live/config.h"
#include "service/http_live/service.h"

namespace service::http_live {
namespace {

void write_metrics(const net::AddressQuota& waiting, prometheus::Text& text) {
    text.single("srs_waiting_players", prometheus::Type::kGauge, "HTTP players that wait for a publisher.",
                static_cast<double>(waiting.count()));
    write_refused(text, "srs_waiting_players_refused_total",
                  "HTTP players refused by max_waiting_players or address_limits.", waiting);
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service =
        std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.router, parts.gate, parts.offers);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(service->waiting(), text); });
    return module_of("http_live", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "http_live", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::http_live
