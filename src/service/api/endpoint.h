#pragma once
// A row of the API's route table.

#include <string>
#include <vector>

#include "net/http_router.h"
#include "service/api/access.h"

namespace service::api {

struct Endpoint {
    std::vector<http::Method> methods;
    std::string pattern;
    std::string summary;  // one line for people
    Access access = Access::kRead;
    net::HttpHandler handler;
    bool debug = false;  // there only with http_api { debug on; }
    size_t body_limit_bytes = 64 * 1024;
};

}  // namespace service::api
