#include "service/description.h"

#include <fmt/format.h>

#include "service/dvr/config.h"
#include "service/dvr/naming.h"
#include "service/dvr/service.h"

namespace service::dvr {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    std::vector<OutputFile> files;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        const auto& dvr = vhost.get<VhostConfig>();
        if (vhost.enabled && dvr.enabled)
            files.push_back({fmt::format("vhost {} dvr_path", vhost.name), dvr.dvr_path, true,
                             snapshot.location_of(vhost.name, "vhost/dvr/dvr_path")});
    }
    if (!files.empty())
        files.push_back(
            {"dvr_journal", snapshot.get<ServerConfig>().dvr_journal, true, snapshot.location_of("", "dvr_journal")});
    return files;
}

net::FileClaims claims_of(const config::Vhost& vhost) {
    const auto& dvr = vhost.get<VhostConfig>();
    if (!dvr.enabled) return {};
    const size_t slash = dvr.dvr_path.substr(0, dvr.dvr_path.find('[')).rfind('/');
    return {{{root_of(dvr.dvr_path), dvr.dvr_path.substr(slash + 1)}}, ""};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    parts.files.add_claims(claims_of);
    auto service = std::make_shared<Service>(snapshot, parts.registry, parts.events);
    parts.offers.recorder = service.get();
    return module_of("dvr", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "dvr", .section = section(), .features = {"dvr"}, .outputs = outputs, .make = make};
    return kDescription;
}

}  // namespace service::dvr
