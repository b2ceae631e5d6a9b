#pragma once
// What is odd about a stream, as named checks, each with a verdict, a figure, and what to do about it: for
// /api/v1/streams/ID/explain. Pure: a stream's counters, its vhost's configuration and the time in, checks out. What
// the checks are, and their limits: doc/why.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/stream.h"

namespace service::api {

enum class CheckVerdict : uint8_t { kOk, kUnknown, kWarn, kBad };  // the worst last
std::string_view verdict_name(CheckVerdict verdict);               // "ok", "unknown", "warn", "bad"

struct Check {
    std::string_view name;
    CheckVerdict verdict = CheckVerdict::kUnknown;
    std::optional<double> figure{};
    std::string_view unit{};
    std::string text{};    // what was seen
    std::string advice{};  // empty: nothing is to be done
};

// What is asked of a stream. vhost: null where the configuration has it no more.
struct StreamFacts {
    const live::Health& health;
    const live::StreamHeaders& headers;
    const live::StreamCounters& counters;
    const config::Vhost* vhost = nullptr;
    bool published = false;
    bool gop_too_long = false;
    int64_t now_ms = 0;  // monotonic, as the next two
    int64_t unpublished_since_ms = 0;
    int64_t jumped_at_ms = 0;  // 0: never
    size_t viewers = 0;
};

std::vector<Check> explain(const StreamFacts& patient);
// The worst of them; what is unknown is no worse than ok.
CheckVerdict worst(const std::vector<Check>& checks);

}  // namespace service::api
