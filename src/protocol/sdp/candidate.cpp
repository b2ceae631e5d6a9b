#include "protocol/sdp/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/sdp/text.h"

namespace sdp {

using base::Code;
using base::fail;
using base::Result;

Result<Candidate> Candidate::parse(std::string_view value) {
    Candidate c;
    std::string_view rest = value;
    c.foundation = take_word(rest);
    auto component = number<uint16_t>(take_word(rest), 256);
    std::string_view transport = take_word(rest);
    auto priority = number<uint32_t>(take_word(rest), UINT32_MAX);
    c.address = take_word(rest);
    auto port = number<uint16_t>(take_word(rest), 65535);
    bool has_type = same_word(take_word(rest), "typ");
    c.type = take_word(rest);
    if (c.foundation.empty() || !component || *component == 0 || !priority || c.address.empty() || !port || !has_type ||
        c.type.empty())
        return fail(Code::kProtocol, fmt::format("'a=candidate:{}' is cut short or wrong", value.substr(0, 80)));
    if (!same_word(transport, "udp") && !same_word(transport, "tcp"))
        return fail(Code::kProtocol, fmt::format("a candidate of transport '{}'", transport.substr(0, 20)));
    c.component = *component;
    c.tcp = same_word(transport, "tcp");
    c.priority = *priority;
    c.port = *port;
    while (!rest.empty()) {
        std::string_view key = take_word(rest);
        std::string_view what = take_word(rest);
        if (same_word(key, "tcptype")) c.tcp_type = what;
    }
    return c;
}

std::string Candidate::write() const {
    std::string text = fmt::format("{} {} {} {} {} {} typ {}", foundation, component, tcp ? "tcp" : "udp", priority,
                                   address, port, type);
    if (!tcp_type.empty()) text += " tcptype " + tcp_type;
    return text;
}

Candidate host_candidate(std::string_view address, uint16_t port, bool tcp, uint32_t rank) {
    // RFC 8445, 5.1.2.1, and RFC 6544, 4.2: the direction preference of a passive candidate is 4, in the three highest
    // bits.
    constexpr uint32_t kHost = 126, kPassive = 4, kComponent = 1, kMaxOfUdp = 65535, kMaxOfTcp = 8191;
    Candidate c;
    uint32_t local =
        tcp ? kPassive << 13 | (kMaxOfTcp - std::min(rank, kMaxOfTcp)) : kMaxOfUdp - std::min(rank, kMaxOfTcp);
    c.foundation = std::to_string(rank + 1);
    c.tcp = tcp;
    c.priority = kHost << 24 | local << 8 | (256 - kComponent);
    c.address = address;
    c.port = port;
    if (tcp) c.tcp_type = "passive";
    return c;
}

}  // namespace sdp
