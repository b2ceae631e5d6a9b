#include "protocol/rtsp/transport.h"

#include <fmt/core.h>

#include "base/text.h"
#include "protocol/http/headers.h"
#include "protocol/rtsp/text.h"

namespace rtsp {

using base::Code;
using http::equal_ignoring_case;

namespace {

// "4-5" or "4", which is 4-5.
template <class T>
std::optional<Pair<T>> pair(std::string_view text, T lowest) {
    const size_t dash = text.find('-');
    const auto first = number<T>(http::trim(text.substr(0, dash)));
    if (!first || *first < lowest) return std::nullopt;
    if (dash == std::string_view::npos) {
        if (*first == static_cast<T>(-1)) return std::nullopt;
        return Pair<T>{*first, static_cast<T>(*first + 1)};
    }
    const auto second = number<T>(http::trim(text.substr(dash + 1)));
    if (!second || *second < lowest || *second == *first) return std::nullopt;
    return Pair<T>{*first, *second};
}

// False: another profile than RTP's.
bool take_profile(std::string_view text, Transport& out) {
    std::string_view rest = text;
    const std::string_view protocol = take_until(rest, '/');
    const std::string_view profile = take_until(rest, '/');
    const std::string_view lower = take_until(rest, '/');
    if (!equal_ignoring_case(protocol, "RTP") || !rest.empty()) return false;
    out.secure = equal_ignoring_case(profile, "SAVP") || equal_ignoring_case(profile, "SAVPF");
    if (!out.secure && !equal_ignoring_case(profile, "AVP") && !equal_ignoring_case(profile, "AVPF")) return false;
    out.tcp = equal_ignoring_case(lower, "TCP");
    return out.tcp || lower.empty() || equal_ignoring_case(lower, "UDP");
}

std::string_view unquoted(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
    return text;
}

// False: the value is invalid.
bool take_parameter(std::string_view name, std::string_view value, Transport& out) {
    if (equal_ignoring_case(name, "multicast")) {
        out.multicast = true;
    } else if (equal_ignoring_case(name, "interleaved")) {
        out.interleaved = pair<uint8_t>(value, 0);
        return out.interleaved.has_value();
    } else if (equal_ignoring_case(name, "client_port")) {
        out.client_port = pair<uint16_t>(value, 1);
        return out.client_port.has_value();
    } else if (equal_ignoring_case(name, "server_port")) {
        out.server_port = pair<uint16_t>(value, 1);  // an invalid one is none: devices send 0-1
    } else if (equal_ignoring_case(name, "ssrc")) {
        out.ssrc = number<uint32_t>(value, 16);  // a malformed one has no effect: some devices send it in decimal
    } else if (equal_ignoring_case(name, "mode")) {
        const std::string_view mode = unquoted(value);
        out.record = equal_ignoring_case(mode, "record") || equal_ignoring_case(mode, "receive");
    } else if (equal_ignoring_case(name, "destination")) {
        out.destination = unquoted(value);
    } else if (equal_ignoring_case(name, "source")) {
        out.source = unquoted(value);
    }
    return true;
}

}  // namespace

base::Result<std::vector<Transport>> parse_transports(std::string_view text) {
    std::vector<Transport> list;
    for (size_t count = 0; !text.empty(); ++count) {
        if (count == kMaxTransports)
            return base::fail(Code::kProtocol, fmt::format("Transport: more than {} alternatives", kMaxTransports));
        std::string_view one = take_until(text, ',');
        Transport transport;
        const bool known = take_profile(take_until(one, ';'), transport);
        while (!one.empty()) {
            std::string_view parameter = take_until(one, ';');
            const size_t equals = parameter.find('=');
            const std::string_view name = http::trim(parameter.substr(0, equals));
            const std::string_view value =
                equals == std::string_view::npos ? std::string_view() : http::trim(parameter.substr(equals + 1));
            if (known && !take_parameter(name, value, transport))
                return base::fail(Code::kProtocol, fmt::format("Transport: {}={} is invalid", base::for_log(name, 30),
                                                               base::for_log(value, 30)));
        }
        if (known) list.push_back(std::move(transport));
    }
    return list;
}

std::string write(const Transport& transport) {
    std::string out = transport.secure ? "RTP/SAVP" : "RTP/AVP";
    if (transport.tcp) out += "/TCP";
    out += transport.multicast ? ";multicast" : ";unicast";
    if (!transport.destination.empty()) out += ";destination=" + transport.destination;
    if (!transport.source.empty()) out += ";source=" + transport.source;
    const auto add = [&out](std::string_view name, const auto& value) {
        if (value) base::append_format(out, ";{}={}-{}", name, value->rtp, value->rtcp);
    };
    add("interleaved", transport.interleaved);
    add("client_port", transport.client_port);
    add("server_port", transport.server_port);
    if (transport.ssrc) base::append_format(out, ";ssrc={:08X}", *transport.ssrc);
    if (transport.record) out += ";mode=record";
    return out;
}

}  // namespace rtsp
