#include "service/caster/ingests.h"

#include <fmt/format.h>

#include "base/authority.h"
#include "base/ip.h"
#include "protocol/http/url.h"

namespace service::caster {

using base::Code;
using base::fail;
using base::Result;

namespace {

struct UdpInput {
    config::ListenAddress address{};
    std::string interface { }, source{}; };

Result<UdpInput> parse_udp_url(std::string_view url) {
    const size_t scheme = url.find("://");
    if (scheme == url.npos || (url.substr(0, scheme) != "udp" && url.substr(0, scheme) != "rtp"))
        return fail(Code::kConfig, fmt::format("url '{}' is not udp://HOST:PORT", url));
    url.remove_prefix(scheme + 3);
    const size_t end = std::min(url.find_first_of("/?"), url.size());
    const auto authority = TRY(base::split_authority(url.substr(0, end)), "url");
    if (!authority.port || *authority.port == 0) return fail(Code::kConfig, "the url has no port");
    UdpInput input;
    input.address.port = *authority.port;
    input.address.host = authority.host;
    if (!authority.host.empty() && !base::IpAddress::parse(input.address.host))
        return fail(Code::kConfig, fmt::format("'{}' is no IP address", input.address.host));
    const size_t query = url.find('?');
    const auto parameters = http::parse_query(query == url.npos ? std::string_view() : url.substr(query + 1));
    // The names are those of FFmpeg and MediaMTX.
    for (const auto& [name, value] : parameters) {
        if (name == "interface") input.interface = value;
        if (name == "source" || name == "sources") input.source = value;
    }
    if (!input.source.empty() && !base::IpAddress::parse(input.source))
        return fail(Code::kConfig, fmt::format("source '{}' is no IP address", input.source));
    return input;
}

}  // namespace

Result<Caster> caster_of(const Ingest& ingest, const std::string& vhost) {
    const std::string what = "ingest " + ingest.name;
    const auto stream = TRY(ingested_stream(ingest, vhost), what);
    UdpInput input = TRY(parse_udp_url(ingest.url), what);
    Caster caster;
    caster.enabled = true;
    caster.caster = kMpegtsOverUdp;
    caster.output = fmt::format("rtmp://{}/{}/{}", stream.vhost, stream.app, stream.name);
    caster.listen.push_back(std::move(input.address));
    caster.interface = std::move(input.interface);
    caster.source = std::move(input.source);
    caster.location = ingest.location;
    caster.is_ingest = true;
    return caster;
}

void add_ingests(config::Checks& checks, config::Vhost& vhost) {
    if (!vhost.enabled) return;
    auto& casters = checks.snapshot().get<Casters>();
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled || puller_of(ingest) != IngestPuller::kUdp) continue;
        if (auto caster = caster_of(ingest, vhost.name))
            casters.all.push_back(*std::move(caster));
        else
            checks.error(ingest.location, caster.error().text());
    }
}

}  // namespace service::caster
