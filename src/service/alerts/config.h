#pragma once
// The configuration of alerts: alerts. A threshold of 0 turns its alert off.

#include "config/section.h"

namespace service::alerts {

struct ServerConfig {
    bool enabled = true;
    int publisher_gone = 60;     // s
    int keyframe_interval = 10;  // s
    int refused_logins = 20;     // in five minutes
    int loop_stalls = 2;         // percent of five minutes
    int certificate = 7;         // days
};

config::Section section();

}  // namespace service::alerts
