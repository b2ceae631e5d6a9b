#include "service/caster/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/row_builder.h"
#include "protocol/rtmp/url.h"
#include "protocol/sdp/session/control.h"

namespace service::caster {
namespace {

constexpr std::string_view kBlock = "stream_caster";
// Of SRS.
constexpr std::string_view kKinds[] = {kMpegtsOverUdp, "flv", "gb28181"};

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using C = Caster;
    const Scope scope{"stream_caster", [](const auto& root) -> decltype(auto) {
                          return (root.snapshot->template get<Casters>().draft);
                      }};
    rows.push_back(row(scope, "enabled", &C::enabled, none(), kLive, "Takes what is sent, and publishes it."));
    rows.push_back(row(scope, "caster", &C::caster, none(), kLive,
                       "What is sent. mpegts_over_udp: MPEG transport streams in UDP datagrams, with or without RTP.",
                       "mpegts_over_udp"));
    rows.push_back(row(scope, "output", &C::output, none(), kLive,
                       "The stream that is published, as a URL: rtmp://HOST/APP/STREAM, where HOST is the vhost.",
                       "rtmp://127.0.0.1/live/livestream"));
    rows.push_back(row(scope, "listen", &C::listen, none(), kLive,
                       "UDP addresses, or those of multicast groups. All send the same stream: one sender at a time.",
                       "8935"));
    rows.push_back(row(scope, "interface", &C::interface, none(), kLive,
                       "The network interface on which multicast groups are joined; empty: as the routes say.",
                       "eth0"));
    rows.push_back(
        row(scope, "source", &C::source, none(), kLive,
            "The IP address of the only sender; of multicast groups it alone is joined (IGMPv3, MLDv2). Empty: "
            "any.",
            "192.0.2.7"));
}

void keep(config::Snapshot& snapshot, const std::string& name, const config::Location& location) {
    auto& casters = snapshot.get<Casters>();
    const std::string text =
        config::draft_text(kBlock, config::ConstRoot{&snapshot, nullptr}, sdp::without_credentials);
    Caster& added = casters.all.emplace_back(std::exchange(casters.draft, {}));
    added.name = name;
    added.location = location;
    added.text = text;
    if (!added.takes_udp()) return;
    for (const config::ListenAddress& address : added.listen) casters.udp.push_back(address);
}

std::string text_of(const config::Snapshot& snapshot) {
    std::string text;
    for (const Caster& caster : snapshot.get<Casters>().all)
        text += fmt::format("{}{} {{ {} }}", text.empty() ? "" : "; ",
                            caster.name.empty() ? "stream_caster" : caster.name, caster.text);
    return text;
}

void check_caster(config::Checks& checks, const Caster& caster) {
    if (std::ranges::find(kKinds, caster.caster) == std::end(kKinds))
        return checks.warning(caster.location,
                              fmt::format("caster '{}' is not known: no effect; mpegts_over_udp is", caster.caster));
    if (!caster.takes_udp())
        return checks.warning(caster.location,
                              fmt::format("stream_caster: {} is not built yet: no effect", caster.caster));
    if (caster.listen.empty())
        return checks.warning(caster.location, "stream_caster without `listen PORT;`: no effect");
    const auto output = parse_output(caster.output);
    if (!output) return checks.error(caster.location, "stream_caster: " + output.error().text());
    if (!checks.snapshot().vhost(output->key.vhost))
        checks.warning(caster.location,
                       fmt::format("stream_caster: no vhost has the stream {}: it is refused", caster.output));
    if (!caster.source.empty() && !base::IpAddress::parse(caster.source))
        checks.error(caster.location, fmt::format("source '{}' is no IP address", caster.source));
}

void check(config::Checks& checks) {
    for (const Caster& caster : checks.snapshot().get<Casters>().all)
        if (caster.enabled) check_caster(checks, caster);
}

const config::ListenAddresses* udp_addresses(const config::Snapshot& snapshot) {
    const auto& casters = snapshot.get<Casters>();
    return casters.udp.empty() ? nullptr : &casters.udp;
}

}  // namespace

base::Result<Output> parse_output(const std::string& output) {
    if (output.find('[') != output.npos)
        return base::fail(base::Code::kConfig, fmt::format("output '{}' has variables, and names no stream", output));
    const auto url = TRY(::rtmp::parse_any_url(output), "output");
    if (url.stream.empty()) return base::fail(base::Code::kConfig, fmt::format("output '{}' names no stream", output));
    const auto address = TRY(::rtmp::resolve_stream(url.tc_url(), {}, url.stream), "output");
    return Output{{address.vhost, address.app, address.stream}, address.params, url.tc_url()};
}

config::Section section() {
    return {.service = "caster",
            .add_rows = add_rows,
            .listeners = {{"caster", "stream_caster/listen", "MPEG-TS over UDP", "casters", config::Transport::kUdp,
                           udp_addresses}},
            .named_blocks = {{.path = kBlock, .keep_of_server = keep, .text_of_server = text_of}},
            .check = check};
}

}  // namespace service::caster
