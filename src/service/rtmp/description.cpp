#include "service/description.h"

#include "service/rtmp/service.h"
#include "service/rtmp/urls.h"

namespace service::rtmp {
namespace {

std::vector<KeyPair> key_pairs(const config::Snapshot& snapshot) {
    if (!snapshot.rtmps.enabled) return {};
    return {{"rtmps", snapshot.rtmps.key, snapshot.rtmps.cert}};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate, &parts.offers);
    parts.offers.serve_other_process = [weak = std::weak_ptr(service)](std::unique_ptr<runtime::ByteStream> stream) {
        if (const auto rtmp = weak.lock()) rtmp->accept(std::move(stream), nullptr, Peer::kOtherProcess);
    };
    return module_of("rtmp", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "rtmp", .key_pairs = key_pairs, .urls = url_part, .make = make};
    return kDescription;
}

}  // namespace service::rtmp
