#include "service/caster/ingests.h"

#include <fmt/format.h>

#include "base/ip.h"
#include "service/udp_url.h"

namespace service::caster {

using base::Code;
using base::fail;
using base::Result;

namespace {

struct UdpInput {
    config::ListenAddress address{};
    std::string source{};
    std::string interface {};
};

Result<UdpInput> input_of(std::string_view text) {
    UdpUrl url = TRY(parse_udp_url(text));
    if (!url.host.empty() && !base::IpAddress::parse(url.host))
        return fail(Code::kConfig, fmt::format("'{}' is no IP address", url.host));
    UdpInput input;
    input.address.port = url.port;
    input.address.host = std::move(url.host);
    // The names are those of FFmpeg and MediaMTX.
    for (const auto& [name, value] : url.parameters) {
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
    UdpInput input = TRY(input_of(ingest.url), what);
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
