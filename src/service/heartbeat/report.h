#pragma once
// The content of a heartbeat. Pure: all data is passed in.

#include <string>
#include <string_view>

#include "config/snapshot.h"

namespace service::heartbeat {

// Identifies the reporting server, in addition to the configuration.
struct Reporter {
    std::string ip;
    std::string service;
    std::string pid;
};

// {"device_id", "ip", "server", "service", "pid"}; if configured, "summaries" ({"data": ...}, as in the API) and the
// listening addresses: "rtmp", "http", "api" ... (INTERFACE.md, "Heartbeat"), and all of them again in "ports".
// summaries: JSON text, the API's data.
std::string make_report(const config::Snapshot& snapshot, const Reporter& reporter, std::string_view summaries);

}  // namespace service::heartbeat
