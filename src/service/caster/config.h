#pragma once
// The blocks stream_caster: what senders without a protocol of their own send, and the stream that it becomes.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::caster {

inline constexpr std::string_view kMpegtsOverUdp = "mpegts_over_udp";

// kOther: off, or not known.
enum class Kind : uint8_t { kOther, kMpegtsOverUdp, kFlv, kGb28181 };

// A block, as read.
struct Caster {
    bool enabled = false;
    std::string caster{};
    std::string output{};
    config::ListenAddresses listen{};
    std::string interface {};
    std::string source{};
    int media_connect_timeout = 10;  // s
    // No directives:
    std::string name{};
    std::string text{};  // what differs from the defaults, for a reload
    config::Location location{};
    bool is_ingest = false;  // it is made of an ingest

    Kind kind() const;
};

struct Casters {
    Caster draft{};
    std::vector<Caster> all{};
    config::ListenAddresses mpegts{}, flv{}, gb28181{};  // of all of a kind
};

config::Section section();

}  // namespace service::caster
