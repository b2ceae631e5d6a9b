#pragma once
// The configuration of DASH: vhost/dash. What it has in common with HLS (storage, low latency, cutting, viewers) is
// vhost/hls's, also where HLS is off.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::hls {

struct DashConfig {
    bool enabled = false;
    double fragment = 30.0;        // s
    double update_period = 150.0;  // s
    double timeshift = 300.0;      // s
    std::string path = "./objs/nginx/html";
    std::string mpd_file = "[app]/[stream].mpd";  // relative to path
    int window_size = 5;                          // segments
    bool cleanup = true;
    int dispose = 120;  // s; 0: never
    friend bool operator==(const DashConfig&, const DashConfig&) = default;
};

// The directory of the segments below dash_path, as SRS has it, with a slash at its end: "[app]/[stream]/".
std::string dash_directory(const DashConfig& dash);

void add_dash_rows(std::vector<config::Row>& rows);

}  // namespace service::hls
