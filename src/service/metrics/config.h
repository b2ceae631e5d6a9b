#pragma once
// The configuration of the exporter: exporter.

#include <string>

#include "config/section.h"

namespace service::metrics {

struct ServerConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 9972}};
    std::string label{};
    std::string tag{};
    int stream_limit = 200;
};

config::Section section();

}  // namespace service::metrics
