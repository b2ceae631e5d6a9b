#include "service/description.h"

#include <fmt/format.h>

#include "service/hls/service.h"

namespace service::hls {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    std::vector<OutputFile> files;
    for (const config::Vhost& vhost : snapshot.vhosts)
        if (vhost.enabled && vhost.hls.enabled && vhost.hls.storage != "memory")
            files.push_back({fmt::format("vhost {} hls_path", vhost.name), vhost.hls.path + "/", true});
    if (!files.empty()) files.push_back({"hls_roll", snapshot.global.hls_roll, false});
    return files;
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("hls", std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.events,
                                                      parts.router, parts.gate, parts.files));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "hls", .features = {"hls"}, .outputs = outputs, .make = make};
    return kDescription;
}

}  // namespace service::hls
