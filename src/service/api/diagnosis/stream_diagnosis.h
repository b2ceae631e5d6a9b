#pragma once
// Diagnoses a stream for /api/v1/streams/ID/explain: named checks, each with a verdict, a figure, and advice. Pure:
// takes a stream's counters, its options and the time, and returns the checks. The checks and their
// limits: doc/why.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/input_faults.h"
#include "live/hub/stream.h"
#include "service/check_verdict.h"
#include "service/shared_parts.h"

namespace service::api {

struct Check {
    std::string_view name;
    CheckVerdict verdict = CheckVerdict::kUnknown;
    std::optional<double> figure{};
    std::string_view unit{};
    std::string text{};    // what was observed
    std::string advice{};  // empty: no action needed
};

// The facts about a stream that the checks need.
struct StreamFacts {
    const live::Health& health;
    const media::TrackSet& tracks;
    const live::StreamCounters& counters;
    std::optional<double> hls_fragment{};  // s; nothing: no HLS is made of it
    bool published = false;
    bool gop_too_long = false;
    int64_t now_ms = 0;  // monotonic, as the next two
    int64_t unpublished_since_ms = 0;
    int64_t jumped_at_ms = 0;  // 0: never
    size_t viewers = 0;
    const live::InputFaults* faults = nullptr;  // null: they are not counted
    std::vector<StreamOutput> outputs{};        // that fail
};

std::vector<Check> diagnose(const StreamFacts& facts);
// The worst verdict of all checks; kUnknown counts as kOk.
CheckVerdict worst(const std::vector<Check>& checks);

enum class VerdictLevel : uint8_t { kFine, kNotice, kSick };
inline constexpr std::string_view kVerdictLevels[] = {"fine", "notice", "sick"};

// The checks in one line, for lists.
struct StreamVerdict {
    VerdictLevel level = VerdictLevel::kFine;
    std::string_view code{};  // the name of the check that it follows from, a literal; empty: it is fine
    std::optional<double> figure{};
    std::string_view unit{};
    std::string text{};
    std::string advice{};
};
// By the first of the worst checks. What the publisher has chosen (codecs, B-frames) is nothing that needs attention.
StreamVerdict verdict_of(std::vector<Check> checks);

}  // namespace service::api
