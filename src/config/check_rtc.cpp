// SnapshotBuilder's checks of WebRTC.

#include <fmt/format.h>

#include "config/snapshot_builder.h"

namespace config {
namespace {

bool is_stun(std::string_view url) { return url.starts_with("stun:") || url.starts_with("stuns:"); }
bool is_turn(std::string_view url) { return url.starts_with("turn:") || url.starts_with("turns:"); }

}  // namespace

void SnapshotBuilder::check_rtc_server() {
    const RtcServer& rtc = snapshot_.rtc_server;
    for (size_t i = 0; i < rtc.ice_server.size(); ++i) {
        const std::string& url = rtc.ice_server[i];
        if (!is_stun(url) && !is_turn(url))
            problems_.error(origin("rtc_server/ice_server"),
                            fmt::format("ice_server: '{}' is neither a stun: nor a turn: address", url));
        if (!is_turn(url)) continue;
        if (i + 2 >= rtc.ice_server.size())
            problems_.error(origin("rtc_server/ice_server"),
                            fmt::format("ice_server: write a username and a credential behind '{}'", url));
        i += 2;
    }
    if (rtc.enabled && rtc.protocol == "tcp" && !rtc.tcp.enabled)
        problems_.error(origin("rtc_server/protocol"), "protocol tcp needs `tcp { enabled on; }` in rtc_server");
    if (rtc.enabled && rtc.reuseport > 1)
        problems_.warning(origin("rtc_server/reuseport"),
                          fmt::format("reuseport {} has no effect: one thread reads all datagrams, from one socket for "
                                      "each address",
                                      rtc.reuseport));
    if (rtc.black_hole.enabled)
        if (auto addr = parse_listen_address(rtc.black_hole.addr); !addr || addr->host.empty())
            problems_.error(origin("rtc_server/black_hole/enabled"), "black_hole needs an addr, ADDRESS:PORT");
}

void SnapshotBuilder::check_rtc(Vhost& vhost) {
    if (!vhost.rtc.enabled) return;
    if (!snapshot_.rtc_server.enabled)
        problems_.warning(vhost_origin(vhost, "vhost/rtc/enabled"),
                          fmt::format("rtc of vhost {} does nothing while rtc_server is not enabled", vhost.name));
    if (!vhost.rtc.nack_no_copy)
        problems_.warning(vhost_origin(vhost, "vhost/rtc/nack_no_copy"),
                          "nack_no_copy off has no effect: packets are always shared");
    if (vhost.rtc.stun_strict_check)
        problems_.warning(vhost_origin(vhost, "vhost/rtc/stun_strict_check"),
                          "stun_strict_check on has no effect: STUN is always checked strictly");
}

}  // namespace config
