#pragma once
// The configuration of hooks: vhost/http_hooks, and vhost/hls/hls_nb_notify.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::hook {

struct VhostConfig {
    bool enabled = false;
    std::vector<std::string> on_connect{};  // on_connect and the following: URLs
    std::vector<std::string> on_close{};
    std::vector<std::string> on_publish{};
    std::vector<std::string> on_unpublish{};
    std::vector<std::string> on_play{};
    std::vector<std::string> on_stop{};
    std::vector<std::string> on_dvr{};
    std::vector<std::string> on_hls{};
    std::vector<std::string> on_hls_notify{};
    std::vector<std::string> on_standby{};
    int timeout = 5'000;
    int retries = 3;
    std::vector<std::string> fail_open{};  // names of hooks
    std::string secret{};                  // empty: calls are not signed
    std::string ca_file{};                 // empty: the system's certificates
    int hls_nb_notify = 64;                // bytes; the directive is in the hls block
};

config::Section section();

}  // namespace service::hook
