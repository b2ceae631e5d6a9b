#pragma once
// The configuration of hooks: vhost/http_hooks, vhost/hls/hls_nb_notify, and hook_outbox.

#include <string>
#include <vector>

#include "config/section.h"
#include "service/hook/stats.h"

namespace service::hook {

struct ServerConfig {
    std::string hook_outbox = "./objs/hook.outbox";
};

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
    std::vector<std::string> on_start{};
    std::vector<std::string> on_alert{};
    int timeout = 5'000;
    int retries = 3;
    std::vector<std::string> fail_open{};  // names of hooks
    std::string on_failure = "deny";
    bool outbox = false;  // reports are kept on disk
    int outbox_max_size = 32;
    int outbox_max_age = 86'400;
    int outbox_concurrency = 32;
    int outbox_batch = 1;
    std::string secret{};    // empty: calls are not signed
    std::string ca_file{};   // empty: the system's certificates
    int hls_nb_notify = 64;  // bytes; the directive is in the hls block
};

const std::vector<std::string>& urls_of(Hook hook, const VhostConfig& hooks);

config::Section section();

}  // namespace service::hook
