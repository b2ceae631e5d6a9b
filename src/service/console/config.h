#pragma once
// The configuration of the web pages: console.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::console {

struct ServerConfig {
    bool enabled = true;
    std::string dir = "./objs/nginx/pages";
    // Sources of CSP's frame-ancestors; "none" alone: no site.
    std::vector<std::string> embed_sites{"*"};
};

config::Section section();

}  // namespace service::console
