#pragma once
// The configuration of live streams over HTTP: vhost/http_remux.

#include <string>

#include "config/section.h"

namespace service::http_live {

struct VhostConfig {
    bool enabled = false;
    bool drop_if_not_match = true;
    bool has_audio = true;
    bool has_video = true;
    bool guess_has_av = true;
    std::string mount = "[vhost]/[app]/[stream].flv";
    bool wait_publisher = true;
    int wait_publisher_timeout = 30'000;
};

config::Section section();

}  // namespace service::http_live
