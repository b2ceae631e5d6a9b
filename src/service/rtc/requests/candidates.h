#pragma once
// Selects the addresses that an answer offers, by the directives of rtc_server and the request's eip, in this order,
// without duplicates:
//
//   eip          the request's parameter eip=ADDRESS[:PORT], no name; PORT replaces the UDP and the TCP port
//   the API      the host that the client used (api_as_candidates); for a domain name its addresses
//                (resolve_api_domain), and the name itself (keep_api_domain)
//   candidate    addresses, interfaces, domain names or $NAME; each may have :PORT
//   interfaces   with candidate * or 0.0.0.0: addresses of this machine (use_auto_detect_network_ip) of ip_family,
//                without loopback and link-local ones; if nothing else was found, the first address of the machine
//
// Each is offered with the ports of the transports in rtc_server.protocol. Pure: the caller provides the machine's
// addresses.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "runtime/socket/local_addresses.h"
#include "service/rtc/config.h"
#include "service/rtc/service.h"

namespace service::rtc {

using runtime::LocalAddress;

struct CandidateSources {
    std::vector<LocalAddress> local;
    // The addresses of a domain name; empty: none. May yield.
    std::function<std::vector<std::string>(const std::string& name)> resolve;
    // The value of an environment variable; empty: not set.
    std::function<std::string(const std::string& name)> environment;
};

struct CandidateQuery {
    const ServerConfig& rtc;
    std::string_view api_host;  // the host of the request: a name, or an address without brackets; may be empty
    std::string_view eip;       // may be empty
    std::span<const uint16_t> udp_ports;
    std::span<const uint16_t> tcp_ports;
};

inline constexpr size_t kMaxHosts = 16;

// Whether a word of the directive candidate can mean an address: *, $NAME, a name of an interface or a domain, an
// address; the latter two may have :PORT.
bool is_candidate(std::string_view word);

// kProtocol: eip is not ADDRESS[:PORT]. At least one candidate is returned if there is any port.
base::Result<std::vector<CandidateAddress>> find_candidates(const CandidateQuery& query,
                                                            const CandidateSources& sources);

}  // namespace service::rtc
