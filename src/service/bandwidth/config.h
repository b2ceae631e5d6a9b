#pragma once
// The configuration of bandwidth checks: bandwidth_check.

#include "config/section.h"

namespace service::bandwidth {

struct ServerConfig {
    bool enabled = false;
    int duration = 40;       // s, of a check
    int max_size = 200;      // MB of a check, in each direction
    int of_address = 1;      // checks of one address at once
    int in_all = 4;          // checks at once
    int per_minute = 4;      // new checks of one address
    int max_kbps = 100'000;  // all checks together, in each direction
};

config::Section section();

}  // namespace service::bandwidth
