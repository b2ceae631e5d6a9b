#pragma once
// What the API and the metrics say about the hook servers.

#include <string>
#include <vector>

#include "net/http/api_endpoint.h"
#include "service/hook/service.h"
#include "service/identity.h"

namespace service::hook {

struct HostState {
    std::string name;      // "http://host:port"
    bool is_down = false;  // for queries or for reports
    int64_t since_ms = 0;  // how long it has been down, or up again; 0: up since the first call
    std::string problem;   // of the last failed call, while it is down
    size_t queries = 0;    // in progress
    Outbox::HostView reports{};
};

// All that were called or are waited for, in the order of their names.
std::vector<HostState> host_states(const Service& service);
net::ApiEndpoint api_row(const Service& service, const ::service::Identity& identity);

}  // namespace service::hook
