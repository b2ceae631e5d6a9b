#include "service/caster/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/row_builder.h"
#include "protocol/sdp/session/control.h"
#include "service/caster/ingests.h"
#include "service/caster/output.h"

namespace service::caster {
namespace {

constexpr std::string_view kBlock = "stream_caster";
// As in SRS.
struct NamedKind {
    std::string_view name;
    Kind kind;
};
constexpr NamedKind kKinds[] = {
    {kMpegtsOverUdp, Kind::kMpegtsOverUdp}, {"flv", Kind::kFlv}, {"gb28181", Kind::kGb28181}};

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using C = Caster;
    const Scope scope{"stream_caster", [](const auto& root) -> decltype(auto) {
                          return (root.snapshot->template get<Casters>().draft);
                      }};
    add_ingest_rows(rows);
    rows.push_back(row(scope, "enabled", &C::enabled, none(), kLive, "Takes what is sent, and publishes it."));
    rows.push_back(
        row(scope, "caster", &C::caster, none(), kLive,
            "What is sent. mpegts_over_udp: MPEG transport streams in UDP datagrams, with or without RTP; "
            "flv: FLV by HTTP POST, see doc/flv-post.md; gb28181: program streams in RTP, see doc/gb28181.md.",
            "mpegts_over_udp"));
    rows.push_back(
        row(scope, "output", &C::output, none(), kLive,
            "The stream that is published, as a URL: rtmp://HOST/APP/STREAM, where HOST is the vhost. For flv "
            "[app], [stream] and [vhost] are those of the posted URL; for gb28181 [stream] is the announced id.",
            "rtmp://127.0.0.1/live/livestream"));
    rows.push_back(
        row(scope, "listen", &C::listen, none(), kLive,
            "Addresses: of mpegts_over_udp UDP ones, or those of multicast groups, which all have the same stream: "
            "one sender at a time; of flv TCP ones; of gb28181 both TCP and UDP.",
            "8935"));
    rows.push_back(
        row(scope, "interface", &C::interface, none(), kLive,
            "mpegts_over_udp: the network interface on which multicast groups are joined; empty: as the routes say.",
            "eth0"));
    rows.push_back(row(scope, "source", &C::source, none(), kLive,
                       "mpegts_over_udp: the IP address of the only sender; of multicast groups it alone is joined "
                       "(IGMPv3, MLDv2). Empty: any.",
                       "192.0.2.7"));
    rows.push_back(row(scope, "media_connect_timeout", &C::media_connect_timeout, seconds(1, 3600), kLive,
                       "gb28181: how long an announced stream waits for its camera, and a connection for its first "
                       "packet."));
}

void keep(config::Snapshot& snapshot, const std::string& name, const config::Location& location) {
    auto& casters = snapshot.get<Casters>();
    const std::string text =
        config::draft_text(kBlock, config::ConstRoot{&snapshot, nullptr}, sdp::without_credentials);
    Caster& added = casters.all.emplace_back(std::exchange(casters.draft, {}));
    added.name = name;
    added.location = location;
    added.text = text;
    const Kind kind = added.kind();
    if (kind == Kind::kOther) return;
    auto& addresses = kind == Kind::kFlv ? casters.flv : kind == Kind::kGb28181 ? casters.gb28181 : casters.mpegts;
    addresses.insert(addresses.end(), added.listen.begin(), added.listen.end());
}

std::string text_of(const config::Snapshot& snapshot) {
    std::string text;
    for (const Caster& caster : snapshot.get<Casters>().all) {
        if (caster.is_ingest) continue;
        text += fmt::format("{}{} {{ {} }}", text.empty() ? "" : "; ",
                            caster.name.empty() ? "stream_caster" : caster.name, caster.text);
    }
    return text;
}

void check_output(config::Checks& checks, const Caster& caster) {
    // Names are known with each sender.
    OutputNames names;
    if (caster.kind() == Kind::kFlv) names = {"app", "stream", "vhost"};
    if (caster.kind() == Kind::kGb28181) names = {.stream = "stream"};
    const auto output = parse_output(caster.output, names);
    if (!output) return checks.error(caster.location, "stream_caster: " + output.error().text());
    if (caster.output.find("[vhost]") == caster.output.npos && !checks.snapshot().vhost(output->key.vhost))
        checks.warning(caster.location,
                       fmt::format("stream_caster: no vhost has the stream {}: it is refused", caster.output));
}

void check_caster(config::Checks& checks, const Caster& caster) {
    if (caster.kind() == Kind::kOther)
        return checks.warning(
            caster.location,
            fmt::format("caster '{}' is not known: no effect; mpegts_over_udp, flv and gb28181 are", caster.caster));
    if (caster.listen.empty())
        return checks.warning(caster.location, "stream_caster without `listen PORT;`: no effect");
    check_output(checks, caster);
    if (!caster.source.empty() && !base::IpAddress::parse(caster.source))
        checks.error(caster.location, fmt::format("source '{}' is no IP address", caster.source));
}

void check(config::Checks& checks) {
    for (const Caster& caster : checks.snapshot().get<Casters>().all)
        if (caster.enabled && !caster.is_ingest) check_caster(checks, caster);
}

template <config::ListenAddresses Casters::*kAddresses>
const config::ListenAddresses* addresses_of(const config::Snapshot& snapshot) {
    const auto& addresses = snapshot.get<Casters>().*kAddresses;
    return addresses.empty() ? nullptr : &addresses;
}

std::vector<config::NamedBlock> named_blocks() {
    std::vector<config::NamedBlock> blocks = ingest_blocks();
    blocks.push_back({.path = kBlock, .keep_of_server = keep, .text_of_server = text_of});
    return blocks;
}

}  // namespace

Kind Caster::kind() const {
    const auto known = std::ranges::find(kKinds, caster, &NamedKind::name);
    return enabled && known != std::end(kKinds) ? known->kind : Kind::kOther;
}

config::Section section() {
    return {.service = "caster",
            .add_rows = add_rows,
            .listeners = {{"caster", "stream_caster/listen", "MPEG-TS over UDP", "casters", config::Transport::kUdp,
                           addresses_of<&Casters::mpegts>},
                          {"caster", "stream_caster/listen", "FLV by HTTP", "casters", config::Transport::kTcp,
                           addresses_of<&Casters::flv>},
                          {"caster", "stream_caster/listen", "GB28181", "casters", config::Transport::kTcp,
                           addresses_of<&Casters::gb28181>},
                          {"caster", "stream_caster/listen", "GB28181 over UDP", "casters", config::Transport::kUdp,
                           addresses_of<&Casters::gb28181>}},
            .named_blocks = named_blocks(),
            .check = check,
            .check_vhost = add_ingests};
}

}  // namespace service::caster
