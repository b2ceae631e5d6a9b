#include "service/description.h"

#include "service/console/config.h"
#include "service/console/service.h"

namespace service::console {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("console", std::make_shared<Service>(snapshot, parts.files, parts.router, parts.api_router));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "console", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::console
