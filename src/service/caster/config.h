#pragma once
// The blocks stream_caster: what senders without a protocol of their own send, and the stream that it becomes.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/section.h"

namespace service::caster {

inline constexpr std::string_view kMpegtsOverUdp = "mpegts_over_udp";

// A block, as read.
struct Caster {
    bool enabled = false;
    std::string caster{};
    std::string output{};
    config::ListenAddresses listen{};
    std::string interface {};
    std::string source{};
    // No directives:
    std::string name{};
    std::string text{};  // what differs from the defaults, for a reload
    config::Location location{};

    bool takes_udp() const { return enabled && caster == kMpegtsOverUdp; }
};

struct Casters {
    Caster draft{};
    std::vector<Caster> all{};
    config::ListenAddresses udp{};  // of all that take UDP
};

// The stream that the output names.
struct Output {
    base::StreamKey key{};  // its vhost as the URL names it
    std::string params{};   // "?k=v", or empty
    std::string tc_url{};
};
// kConfig: it is no URL of a stream.
base::Result<Output> parse_output(const std::string& output);

config::Section section();

}  // namespace service::caster
