#include "service/description.h"

#include "service/rtmp/service.h"

namespace service::rtmp {
namespace {

std::vector<KeyPair> key_pairs(const config::Snapshot& snapshot) {
    if (!snapshot.rtmps.enabled) return {};
    return {{"rtmps", snapshot.rtmps.key, snapshot.rtmps.cert}};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("rtmp",
                     std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate, &parts.offers));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "rtmp", .key_pairs = key_pairs, .make = make};
    return kDescription;
}

}  // namespace service::rtmp
