#include "service/forward/udp_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "service/udp_url.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;

namespace {

// Of FFmpeg. A datagram has seven transport packets here, and is sent at most three times as fast as the stream.
constexpr std::array<std::string_view, 8> kIgnored = {"bitrate",   "buffer_size", "burst_bits", "connect",
                                                      "fifo_size", "localport",   "pkt_size",   "reuse"};

Result<uint8_t> parse_ttl(std::string_view text) {
    uint8_t ttl = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ttl);
    if (error != std::errc() || end != text.data() + text.size() || ttl == 0)
        return fail(Code::kConfig, "ttl is a number from 1 to 255");
    return ttl;
}

}  // namespace

Result<UdpTarget> parse_udp_target(std::string_view text) {
    UdpUrl url = TRY(parse_udp_url(text));
    if (url.host.empty()) return fail(Code::kConfig, "the url names no host");
    UdpTarget target{.rtp = url.rtp, .host = std::move(url.host), .port = url.port};
    for (const auto& [name, value] : url.parameters) {
        if (name == "interface")
            target.interface = value;
        else if (name == "ttl")
            target.ttl = TRY(parse_ttl(value));
        else if (std::ranges::find(kIgnored, name) == kIgnored.end())
            return fail(Code::kConfig, fmt::format("UDP has no parameter {}", base::for_log(name, 32)));
    }
    return target;
}

Result<UdpTargets::Claim> UdpTargets::claim(const base::Endpoint& address) {
    if (!taken_.insert(address).second)
        return fail(Code::kBusy, fmt::format("another stream is sent to {}", address.text()));
    return Claim(*this, address);
}

}  // namespace service::forward
