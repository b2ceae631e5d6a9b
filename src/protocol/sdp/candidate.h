#pragma once
// ICE candidates in the form of SDP (RFC 8839, 5.1; RFC 6544 for TCP): "candidate:1 1 udp 2130706431 192.0.2.1 8000 typ
// host". Addresses are text: they may be names (.local, or a domain). Extensions other than tcptype are ignored.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sdp {

struct Candidate {
    std::string foundation = "1";
    uint16_t component = 1;
    bool tcp = false;
    uint32_t priority = 0;
    std::string address;
    uint16_t port = 0;
    std::string type = "host";
    std::string tcp_type;  // of TCP: "passive", "active", "so"
    friend bool operator==(const Candidate&, const Candidate&) = default;

    // value: the text after "a=candidate:".
    static base::Result<Candidate> parse(std::string_view value);
    std::string write() const;
};

// A host candidate; a TCP one is passive. rank: the order of preference, 0 for the most preferred candidate, then 1, 2
// ...; UDP always has priority over TCP.
Candidate host_candidate(std::string_view address, uint16_t port, bool tcp, uint32_t rank);

}  // namespace sdp
