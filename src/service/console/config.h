#pragma once
// The configuration of the web pages: console.

#include <string>

#include "config/section.h"

namespace service::console {

struct ServerConfig {
    bool enabled = true;
    std::string dir = "./objs/nginx/pages";
};

config::Section section();

}  // namespace service::console
