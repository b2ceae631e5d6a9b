#pragma once
// Operations: state of the server process for its operators, and the actions they may request. There is one instance,
// among the parts that services share; server/ fills it in, the API reads it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace net {

struct ReloadChange {
    std::string vhost;      // empty outside vhosts
    std::string directive;  // "rtmp/chunk_size"; empty: the vhost itself was added or removed
    std::string before;
    std::string after;
    bool is_active = false;  // false: it requires a restart, the old value stays
};

struct ReloadReport {
    uint64_t number = 0;   // number of the reload in this run, from 1; 0: there was none
    int64_t began_ms = 0;  // wall clock
    int64_t took_ms = 0;
    std::string cause;  // "SIGHUP", "API", "a file changed"
    bool ok = false;    // false: nothing was changed
    std::string error;  // the reason, in one line
    // Errors and warnings of the files ("conf/srs.conf:3: error: ..."), then the services that refuse the change.
    std::vector<std::string> problems;
    std::vector<ReloadChange> changes;
};

// Level of the circuit_breaker: how close the loop is to being busy all the time.
enum class LoadLevel : uint8_t { kNormal, kHigh, kCritical, kDying };
constexpr std::string_view load_level_name(LoadLevel level) {
    constexpr std::string_view kNames[] = {"normal", "high", "critical", "dying"};
    return kNames[static_cast<size_t>(level)];
}
struct Load {
    LoadLevel level = LoadLevel::kNormal;
    double busy_percent = 0;  // in the last second
    uint64_t refused = 0;     // players, while the level was dying
};

// A change of the server that somebody asked for, for the audit file.
struct AuditEvent {
    std::string_view action;  // "api", "signal", "reload", "upgrade"
    std::string ip{};         // of who asked; empty: not by the network
    std::string user{};       // the name of the login, or which token: "token 1"; empty: none was needed
    std::string what{};       // "DELETE /api/v1/clients/abc", "SIGHUP"
    std::string about{};      // whom it changed: "rtmp-play a.com/live/cam 192.0.2.7"
    std::string result{};     // "200", "accepted", "refused: ..."
};

struct Operations {
    // A graceful shutdown has begun: load balancers should send no clients here any more.
    bool draining = false;
    Load load;
    ReloadReport last_reload;
    uint64_t reloads = 0;         // all reloads
    uint64_t reloads_failed = 0;  // of those: nothing was changed
    // Reads the configuration again and applies it, as a whole or not at all. Yields; concurrent reloads wait for one
    // another. kCancelled: the caller was cancelled meanwhile. Empty before the server runs.
    std::function<base::Result<ReloadReport>(std::string_view cause)> reload;
    // What a reload would do now: reads and checks the configuration in the same way, and takes nothing of it. number
    // is 0, and is_active says whether a reload is sufficient. Yields, and fails, as reload does.
    std::function<base::Result<ReloadReport>()> check_reload{};
    // Records a change. Does not yield; empty: nobody does.
    std::function<void(const AuditEvent&)> audit{};
};

}  // namespace net
