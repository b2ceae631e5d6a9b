#pragma once
// What a heartbeat says. Pure: what it is about is handed in.

#include <string>
#include <string_view>

#include "config/snapshot.h"

namespace service::heartbeat {

// Who reports, beside what the configuration says.
struct Reporter {
    std::string ip;
    std::string service;
    std::string pid;
};

// {"device_id", "ip", "server", "service", "pid"} and, when asked for, "summaries" ({"data": ...}, as the API has them)
// and the addresses that are listened on: "rtmp", "http", "api" ... (INTERFACE.md, "Heartbeat"), and all of them once
// more in "ports".
// summaries: JSON text, the API's data.
std::string make_report(const config::Snapshot& snapshot, const Reporter& reporter, std::string_view summaries);

}  // namespace service::heartbeat
