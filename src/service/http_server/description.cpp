#include "service/description.h"

#include "service/http_server/service.h"

namespace service::http_server {
namespace {

std::vector<KeyPair> key_pairs(const config::Snapshot& snapshot) {
    const config::HttpServer& http = snapshot.http_server;
    if (!http.enabled || !http.https.enabled) return {};
    return {{"http_server/https", http.https.key, http.https.cert}};
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("http_server", std::make_shared<Service>(snapshot, parts.sessions, parts.router, parts.api_router,
                                                              parts.files, parts.identity.signature));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "http_server", .features = {"httpd"}, .key_pairs = key_pairs, .make = make};
    return kDescription;
}

}  // namespace service::http_server
