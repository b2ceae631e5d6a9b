#include "service/forward/target.h"

#include "config/path_variables.h"
#include "config/snapshot.h"
#include "service/forward/destination.h"

namespace service::forward {

using base::Result;

namespace {

std::string own_path(const live::StreamKey& key, std::string_view params) {
    std::string path = key.app + "/" + key.name;
    path += params;
    if (key.vhost != config::kDefaultVhost) path += (params.empty() ? "?vhost=" : "&vhost=") + key.vhost;
    return path;
}

}  // namespace

Result<Target> make_target(std::string_view destination, const live::StreamKey& key, std::string_view params) {
    auto parsed = TRY(parse_destination(destination));
    Target target;
    std::string server = (parsed.tls ? "rtmps://" : "rtmp://") + parsed.authority + "/";
    if (parsed.path.empty()) {
        target.text = server + own_path(key, params);
        target.shown = server + key.app + "/" + key.name;
    } else {
        config::PathVariables variables;
        variables.set("vhost", key.vhost).set("app", key.app).set("stream", key.name);
        target.text = server + variables.expand(parsed.path);
    }
    target.url = TRY(::rtmp::parse_url(target.text));
    if (target.shown.empty()) target.shown = server + target.url.app.substr(0, target.url.app.find('?')) + "/...";
    return target;
}

}  // namespace service::forward
