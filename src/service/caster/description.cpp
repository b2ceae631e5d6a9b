#include "service/description.h"

#include "service/caster/config.h"
#include "service/caster/gb_api.h"
#include "service/caster/metrics.h"
#include "service/caster/service.h"

namespace service::caster {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    parts.api_rows.add(gb_publish_row(*service, parts.identity));
    return module_of("caster", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "caster",
                                          .section = section(),
                                          .features = {"mpegts-over-udp", "flv-by-post", "gb28181"},
                                          .make = make};
    return kDescription;
}

}  // namespace service::caster
