#include "service/locator.h"

#include <fmt/format.h>

#include "protocol/http/url.h"

namespace service {
namespace {

bool names_vhost(std::string_view query) {
    while (!query.empty()) {
        const std::string_view part = query.substr(0, query.find('&'));
        if (part.starts_with("vhost=") || part.starts_with("domain=")) return true;
        query.remove_prefix(std::min(part.size() + 1, query.size()));
    }
    return false;
}

void add_vhost(std::string& url, std::string_view query, const std::string& vhost) {
    if (vhost == config::kDefaultVhost || names_vhost(query)) return;
    url += query.empty() ? "?" : "&";
    url += "vhost=" + http::percent_encode(vhost);
}

}  // namespace

std::string rtmp_redirect(const std::string& server, const base::StreamKey& stream, std::string_view params) {
    std::string url = fmt::format("{}/{}/{}{}", server, stream.app, stream.name, params);
    if (params.starts_with('?')) params.remove_prefix(1);
    add_vhost(url, params, stream.vhost);
    return url;
}

std::string http_redirect(const std::string& server, const http::Request& request, const std::string& vhost) {
    std::string url = server + http::percent_encode(request.path);
    if (!request.raw_query.empty()) url += "?" + request.raw_query;
    add_vhost(url, request.raw_query, vhost);
    return url;
}

}  // namespace service
