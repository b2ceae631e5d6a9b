#pragma once
// Which addresses an answer offers, by the directives of rtc_server and the request's eip, in this order, each once:
//
//   eip          the parameter eip=ADDRESS[:PORT] of the request, no name; PORT stands for UDP's and TCP's
//   the API      the host by which the client came (api_as_candidates); of a domain name its addresses
//                (resolve_api_domain), and the name itself (keep_api_domain)
//   candidate    addresses, interfaces, domain names or $NAME; each may have :PORT
//   interfaces   with candidate * or 0.0.0.0: addresses of this machine (use_auto_detect_network_ip) of ip_family, but
//                no loopback and no link-local ones; and where nothing else was found the first there is
//
// Each with the ports of the transports that rtc_server.protocol offers. Pure: who calls brings the machine's
// addresses.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "runtime/socket/local_addresses.h"
#include "service/rtc/service.h"

namespace service::rtc {

using runtime::LocalAddress;

struct CandidateSources {
    std::vector<LocalAddress> local;
    // Addresses of a domain name, empty when there are none. May yield.
    std::function<std::vector<std::string>(const std::string& name)> resolve;
    // A variable of the environment, empty when it is not set.
    std::function<std::string(const std::string& name)> environment;
};

struct CandidateQuestion {
    const config::RtcServer& rtc;
    std::string_view api_host;  // as the client named us: a name or an address without brackets; may be empty
    std::string_view eip;       // may be empty
    std::span<const uint16_t> udp_ports;
    std::span<const uint16_t> tcp_ports;
};

inline constexpr size_t kMaxHosts = 16;

// kProtocol: eip is no ADDRESS[:PORT]. At least one, where there is a port at all.
base::Result<std::vector<CandidateAddress>> find_candidates(const CandidateQuestion& question,
                                                            const CandidateSources& sources);

}  // namespace service::rtc
