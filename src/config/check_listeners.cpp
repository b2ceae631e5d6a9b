// SnapshotBuilder's checks of the listeners: all of them must be bindable at the same time.

#include <fmt/format.h>

#include <algorithm>

#include "base/ip.h"
#include "config/listeners.h"
#include "config/snapshot_builder.h"

namespace config {
namespace {

constexpr std::string_view kEveryIpv4 = "0.0.0.0";

bool is_ipv4(const ListenAddress& address) {
    const auto ip = base::IpAddress::parse(address.host);
    return ip && ip->is_v4();
}

// [::], in any notation.
bool is_every_ipv6(const ListenAddress& address) { return base::IpAddress::parse(address.host) == base::IpAddress(); }

bool has_every_ipv4(const ListenAddress& a) {
    return a.host.empty() || a.host == kEveryIpv4 || (is_every_ipv6(a) && !a.ipv6_only);
}
bool has_every_ipv6(const ListenAddress& a) { return a.host.empty() || is_every_ipv6(a); }
bool has_some_ipv4(const ListenAddress& a) { return has_every_ipv4(a) || is_ipv4(a); }
bool has_some_ipv6(const ListenAddress& a) { return a.host.empty() || !is_ipv4(a); }

// The system would refuse the second one.
bool collide(const ListenAddress& a, const ListenAddress& b) {
    if (a.port != b.port) return false;
    return (has_every_ipv4(a) && has_some_ipv4(b)) || (has_every_ipv4(b) && has_some_ipv4(a)) ||
           (has_every_ipv6(a) && has_some_ipv6(b)) || (has_every_ipv6(b) && has_some_ipv6(a)) ||
           base::IpAddress::parse(a.host) == base::IpAddress::parse(b.host);
}

struct Use {
    const char* path;
    Transport transport;
    ListenAddress* address;
};

// The addresses are those of the snapshot itself, which is not const.
std::vector<Use> uses_of(Snapshot& snapshot) {
    std::vector<Use> uses;
    for_each_address(snapshot, [&](const Listener& listener, const ListenAddress& address) {
        uses.push_back({listener.path, listener.transport, const_cast<ListenAddress*>(&address)});
    });
    return uses;
}

// Listeners of http_server may also serve http_api.
bool may_share(std::string_view a, std::string_view b) {
    return (a == "http_server/listen" && b == "http_api/listen") ||
           (a == "http_server/https/listen" && b == "http_api/https/listen");
}

}  // namespace

// A port alone, or [::], listens on IPv6 and IPv4. Beside an IPv4 listener or a port alone on the same port, [::]
// becomes IPv6 only; a port alone beside [::] becomes IPv4 only.
void SnapshotBuilder::settle_listeners() {
    const std::vector<Use> uses = uses_of(snapshot_);
    for (const Use& use : uses)
        use.address->reuse_port = snapshot_.global.reuse_port && use.transport == Transport::kTcp;
    auto beside = [&](const Use& use, auto&& is_other) {
        return std::ranges::any_of(uses, [&](const Use& other) {
            return other.transport == use.transport && other.address->port == use.address->port &&
                   is_other(*other.address);
        });
    };
    for (const Use& use : uses)
        if (is_every_ipv6(*use.address))
            use.address->ipv6_only =
                beside(use, [](const ListenAddress& other) { return other.host.empty() || is_ipv4(other); });
    for (const Use& use : uses)
        if (use.address->host.empty() && beside(use, is_every_ipv6)) use.address->host = kEveryIpv4;
}

void SnapshotBuilder::check_listeners() {
    const Snapshot& s = snapshot_;
    if (s.rtmp.listen.empty())
        problems_.error({"configuration", 0},
                        "no listen: give the RTMP port, for example `listen 1935;` or SRS_LISTEN=1935");
    if (s.rtmps.enabled && s.rtmps.listen.empty())
        problems_.error(origin("rtmps/enabled"), "rtmps is enabled without a listen, for example `listen 1443;`");
    if (s.http_server.https.enabled && !s.http_server.enabled)
        problems_.warning(origin("http_server/https/enabled"), "https does nothing while http_server is not enabled");
    bool shares = false;
    const std::vector<Use> uses = uses_of(snapshot_);
    for (auto use = uses.begin(); use != uses.end(); ++use) {
        for (auto before = uses.begin(); before != use; ++before) {
            if (use->transport != before->transport || !collide(*use->address, *before->address)) continue;
            if (*use->address == *before->address && may_share(before->path, use->path)) {
                shares = true;
                continue;
            }
            problems_.error(
                origin(use->path),
                fmt::format(
                    "{} {} is already used by {}{} at {}", use->path, use->address->text(), before->path,
                    *use->address == *before->address ? std::string() : fmt::format(" {}", before->address->text()),
                    origin(before->path).text()));
        }
    }
    // The shared listener gives the same answers to preflight requests.
    if (shares && s.http_server.crossdomain != s.http_api.crossdomain)
        problems_.error(origin("http_api/crossdomain"),
                        "http_api and http_server have one port: give both the same crossdomain");
}

}  // namespace config
