#include "service/description.h"

#include <fmt/format.h>

#include "service/dvr/service.h"

namespace service::dvr {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    std::vector<OutputFile> files;
    for (const config::Vhost& vhost : snapshot.vhosts)
        if (vhost.enabled && vhost.dvr.enabled)
            files.push_back({fmt::format("vhost {} dvr_path", vhost.name), vhost.dvr.dvr_path, true});
    if (!files.empty()) files.push_back({"dvr_journal", snapshot.global.dvr_journal, true});
    return files;
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.registry, parts.events);
    parts.offers.recorder = service.get();
    return module_of("dvr", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "dvr", .features = {"dvr"}, .outputs = outputs, .make = make};
    return kDescription;
}

}  // namespace service::dvr
