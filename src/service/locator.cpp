#include "service/locator.h"

#include <fmt/format.h>

#include <array>

#include "protocol/http/url.h"

namespace service {
namespace {

constexpr std::array<std::string_view, 2> kVhostParameters = {"vhost", "domain"};

// The client's parameters, whose vhost is replaced by the one that they were found to mean.
void add_parameters(std::string& url, std::string_view query, const std::string& vhost) {
    std::string all = vhost == config::kDefaultVhost ? "" : "vhost=" + http::percent_encode(vhost);
    if (const std::string kept = http::without_parameters(query, kVhostParameters); !kept.empty())
        all += (all.empty() ? "" : "&") + kept;
    if (!all.empty()) url += "?" + all;
}

}  // namespace

std::string rtmp_redirect(const std::string& server, const base::StreamKey& stream, std::string_view params) {
    std::string url = fmt::format("{}/{}/{}", server, stream.app, stream.name);
    if (params.starts_with('?')) params.remove_prefix(1);
    add_parameters(url, params, stream.vhost);
    return url;
}

std::string http_redirect(const std::string& server, const http::Request& request, const std::string& vhost) {
    std::string url = server + http::percent_encode(request.path);
    add_parameters(url, request.raw_query, vhost);
    return url;
}

}  // namespace service
