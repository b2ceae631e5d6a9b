#pragma once
// The configuration of heartbeats: heartbeat.

#include <string>

#include "config/section.h"

namespace service::heartbeat {

struct AuthConfig {
    bool enabled = false;
    std::string type{};  // "bearer"
    std::string token{};
};

struct ServerConfig {
    bool enabled = false;
    double interval = 9.9;  // s
    std::string url = "http://127.0.0.1:8085/api/v1/servers";
    std::string device_id{};
    bool summaries = false;
    bool ports = false;
    AuthConfig auth{};
};

config::Section section();

}  // namespace service::heartbeat
