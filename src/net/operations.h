#pragma once
// Operations: what the people who run the server see of its run as a whole, and may ask of it. There is one, in the
// house; server/ fills it in, the API reads it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace net {

struct ReloadChange {
    std::string vhost;      // empty outside vhosts
    std::string directive;  // "rtmp/chunk_size"; empty: the vhost itself came or went
    std::string before;
    std::string after;
    bool in_force = false;  // false: it needs a restart, the old value stays
};

struct ReloadReport {
    uint64_t number = 0;   // of this run's reloads, from 1; 0: there was none
    int64_t began_ms = 0;  // wall clock
    int64_t took_ms = 0;
    std::string cause;  // "SIGHUP", "API", "a file changed"
    bool ok = false;    // false: nothing was changed
    std::string error;  // why not, in a line
    // Errors and warnings of the files ("conf/srs.conf:3: error: ..."), then what refuses to be put in force.
    std::vector<std::string> problems;
    std::vector<ReloadChange> changes;
};

// circuit_breaker's: how near the loop is to being busy all the time.
enum class LoadLevel : uint8_t { kNormal, kHigh, kCritical, kDying };
constexpr std::string_view load_level_name(LoadLevel level) {
    constexpr std::string_view kNames[] = {"normal", "high", "critical", "dying"};
    return kNames[static_cast<size_t>(level)];
}
struct Load {
    LoadLevel level = LoadLevel::kNormal;
    double busy_percent = 0;  // of the last second
    uint64_t refused = 0;     // players, while it was dying
};

struct Operations {
    // A gentle end has begun: who chooses among servers should send nobody here any more.
    bool draining = false;
    Load load;
    ReloadReport last_reload;
    uint64_t reloads = 0;         // all there were
    uint64_t reloads_failed = 0;  // of those: nothing was changed
    // Reads the configuration again and puts it in force, whole or not at all. Yields; reloads wait for one another.
    // kCancelled: the caller was cancelled meanwhile. Empty before the server runs.
    std::function<base::Result<ReloadReport>(std::string_view cause)> reload;
};

}  // namespace net
