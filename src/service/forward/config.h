#pragma once
// The configuration of forwarding: vhost/forward.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::forward {

struct VhostConfig {
    bool enabled = false;
    std::vector<std::string> destination{};  // after loading each is a Destination
    std::string backend{};                   // asked instead of destination; empty: not used
};

config::Section section();

}  // namespace service::forward
