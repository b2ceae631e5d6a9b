#pragma once
// The Transport header (RFC 2326, section 12.39): how one track is carried. A request lists alternatives in order of
// preference; a response has the one that was chosen.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rtsp {

// Two numbers, of RTP and of RTCP.
template <class T>
struct Pair {
    T rtp = 0;
    T rtcp = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
};
using Channels = Pair<uint8_t>;
using Ports = Pair<uint16_t>;

struct Transport {
    bool tcp = false;        // RTP/AVP/TCP: interleaved
    bool secure = false;     // RTP/SAVP
    bool multicast = false;  // the default of the RFC; a request without unicast and multicast is taken as unicast
    bool record = false;     // mode=record
    std::optional<Channels> interleaved{};
    std::optional<Ports> client_port{};
    std::optional<Ports> server_port{};
    std::optional<uint32_t> ssrc{};
    std::string destination{};  // as sent: never an address to send to without a check
    std::string source{};

    friend bool operator==(const Transport&, const Transport&) = default;
};

inline constexpr size_t kMaxTransports = 16;

// The alternatives, without those of another profile than RTP's. kProtocol: a parameter has an invalid value (a channel
// above 255, port 0), or there are more than kMaxTransports. An alternative with one number only has the next one for
// RTCP.
base::Result<std::vector<Transport>> parse_transports(std::string_view text);
// One alternative, for requests and responses. Always unicast where it is not multicast.
std::string write(const Transport& transport);

}  // namespace rtsp
