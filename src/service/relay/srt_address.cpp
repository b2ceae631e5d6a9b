#include "service/relay/srt_address.h"

#include <fmt/format.h>

#include "config/path_variables.h"
#include "config/snapshot.h"
#include "protocol/http/url.h"
#include "protocol/srt/url.h"

namespace service::relay {

base::Result<std::string> srt_url(const SrtAddress& address) {
    config::PathVariables variables;
    variables.set("vhost", http::percent_encode(address.stream.vhost))
        .set("app", http::percent_encode(address.stream.app))
        .set("stream", http::percent_encode(address.stream.name));
    std::string url = fmt::format("srt://{}?{}", address.authority, variables.expand(std::string(address.parameters)));
    if (!TRY(::srt::parse_url(url)).stream_id.empty()) return url;
    const std::string vhost(address.vhost == config::kDefaultVhost ? std::string_view() : address.vhost);
    const std::string id = TRY(::srt::make_stream_id(address.mode, {vhost, address.stream.app, address.stream.name},
                                                     address.params, address.path));
    if (!url.ends_with('?')) url += '&';
    url += "streamid=" + http::percent_encode(id, "#!:=,/");
    TRY(::srt::parse_url(url));
    return url;
}

}  // namespace service::relay
