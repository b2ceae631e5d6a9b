// Fuzzes a web page's address: the host must never end in the middle of a name, and the rules must handle any host.

#include <cstdint>
#include <string_view>

#include "net/access/access_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string host = net::page_host(text);
    if (host.find_first_of("/?#\\@") != host.npos) __builtin_trap();
    config::VhostRefer refer{true, {"example.com"}, {}, {}};
    const bool good = net::check_refer(refer, net::Action::kPlay, text).has_value();
    if (good != (host == "example.com" || host.ends_with(".example.com"))) __builtin_trap();
    config::VhostSecurity security{true, {}, {{false, *base::IpNetwork::parse("10.0.0.0/8")}}};
    auto address = base::IpAddress::parse(text);
    const bool denied = address && security.deny[0].network.contains(*address);
    if (net::check_address(security, net::Action::kPlay, text).has_value() == denied) __builtin_trap();
    return 0;
}
