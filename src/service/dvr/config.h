#pragma once
// The configuration of recording: vhost/dvr, and dvr_journal.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::dvr {

// Outside of vhosts.
struct ServerConfig {
    std::string dvr_journal = "./objs/dvr.journal";
};

struct VhostConfig {
    bool enabled = false;
    std::vector<std::string> dvr_apply{"all"};                                  // "all", or app/stream
    std::string dvr_plan = "session";                                           // "session" or "segment"
    std::string dvr_path = "./objs/nginx/html/[app]/[stream].[timestamp].flv";  // after loading it ends in .flv or .mp4
    int dvr_duration = 30;                                                      // s
    bool dvr_wait_keyframe = true;
    config::TimeJitter time_jitter = config::TimeJitter::kFull;
    int dvr_keyframes = 2000;
};

config::Section section();

}  // namespace service::dvr
