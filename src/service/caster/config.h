#pragma once
// The blocks stream_caster: what senders without a protocol of their own send, and the stream that it becomes.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::caster {

// kOther: off, or not known.
enum class Kind : uint8_t { kOther, kMpegtsOverUdp, kFlv };

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

    Kind kind() const;
};

struct Casters {
    Caster draft{};
    std::vector<Caster> all{};
    config::ListenAddresses mpegts{}, flv{};  // of all of a kind
};

config::Section section();

}  // namespace service::caster
