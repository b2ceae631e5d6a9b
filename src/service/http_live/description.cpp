#include "service/description.h"

#include "service/http_live/config.h"
#include "service/http_live/service.h"
#include "service/http_live/urls.h"

namespace service::http_live {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("http_live", std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.router,
                                                            parts.gate, parts.offers));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "http_live", .section = section(), .urls = url_part, .make = make};
    return kDescription;
}

}  // namespace service::http_live
