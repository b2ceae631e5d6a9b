#pragma once
// The configuration of HLS: vhost/hls, and hls_roll.

#include <algorithm>
#include <string>

#include "config/section.h"
#include "config/stream_groups.h"

namespace service::hls {

// Outside of vhosts.
struct ServerConfig {
    std::string hls_roll = "./objs/hls.roll";
};

struct VhostConfig {
    bool enabled = false;
    bool use_fmp4 = false;
    double fragment = 10.0;  // s
    double td_ratio = 1.0;   // of fragment
    double aof_ratio = 2.1;  // of fragment
    double window = 60.0;    // s
    double dvr_window = 0;   // s
    bool recover = true;
    std::string on_error = "continue";  // ignore, disconnect or continue
    std::string storage = "disk";       // disk, memory or both
    std::string path = "./objs/nginx/html";
    std::string m3u8_file = "[app]/[stream].m3u8";  // this and the next four: relative to path
    std::string ts_file = "[app]/[stream]-[seq].ts";
    std::string fmp4_file = "[app]/[stream]-[seq].m4s";
    std::string init_file = "[app]/[stream]/init.mp4";
    std::string entry_prefix{};
    bool cleanup = true;
    int dispose = 120;  // s; 0: never
    bool wait_keyframe = true;
    bool ts_floor = false;
    bool ctx = true;
    bool ts_ctx = true;
    bool master_m3u8_path_relative = false;
    bool keys = false;
    int fragments_per_key = 5;
    std::string key_file{};       // below key_file_path; empty: [app]/[stream]-[seq].key
    std::string key_file_path{};  // empty: path
    std::string key_url{};
    bool dts_directly = true;
    bool low_latency = false;
    int part_ms = 333;
    config::Commands variants{};            // lines of hls_variants
    config::StreamGroups variant_groups{};  // made of them
    // Of the playlist, s.
    double length() const { return std::max(window, dvr_window); }
    // A part of an encrypted segment is no part of its bytes.
    bool has_parts() const { return low_latency && !keys; }
    friend bool operator==(const VhostConfig&, const VhostConfig&) = default;
};

config::Section section();

}  // namespace service::hls
