#include "service/url/names.h"

#include <fmt/format.h>

#include <utility>

namespace service::url {

std::string_view authority_in(std::string_view url) {
    const std::string_view rest = url.substr(url.find("://") + 3);
    return rest.substr(0, rest.find_first_of("/?"));
}

base::Result<void> take_address(Target& target, ::rtmp::StreamAddress address) {
    target.vhost = std::move(address.vhost);
    target.app = std::move(address.app);
    target.stream = std::move(address.stream);
    target.param = std::move(address.params);
    if (!target.stream.empty()) return {};
    return base::fail(base::Code::kProtocol, "the URL names no stream: SCHEME://HOST/APP/STREAM");
}

std::string authority_of(const Target& target, uint16_t usual) {
    const std::string host = target.host.contains(':') ? "[" + target.host + "]" : target.host;
    return target.port == usual ? host : fmt::format("{}:{}", host, target.port);
}

std::string plain_url(std::string_view scheme, const Target& target, uint16_t usual, std::string_view query) {
    return fmt::format("{}://{}/{}/{}{}{}", scheme, authority_of(target, usual), target.app, target.stream,
                       query.empty() ? "" : "?", query);
}

}  // namespace service::url
