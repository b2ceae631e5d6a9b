#pragma once
// What a heartbeat says. Pure: what it is about is handed in.

#include <string>
#include <string_view>

#include "config/snapshot.h"

namespace service::heartbeat {

// {"device_id", "ip"} and, when asked for, "summaries" and "ports". The addresses that are listened on stand in "ports"
// and, as older servers have it, beside it too.
// summaries: JSON text.
std::string make_report(const config::Snapshot& snapshot, std::string_view ip, std::string_view summaries);

}  // namespace service::heartbeat
