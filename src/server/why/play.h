#pragma once
// Plays a stream for two seconds at this server's own listener, by RTMP, HTTP-FLV or HTTP-TS, and counts what comes. It
// connects to an address of the configuration, never to the one of the URL.

#include <string>

#include "runtime/loop/deadline.h"
#include "server/why/evaluate.h"
#include "server/why/report.h"

namespace server::why {

inline constexpr int64_t kPlayMs = 2'000;

// Why it is not tried: another protocol, hooks that would be asked, no publisher; empty: it may be.
std::string why_not_played(const Facts& facts, const Findings& findings);
// Yields, for at most about kPlayMs and the time until the first byte, which is bounded.
Played play(const Facts& facts);

}  // namespace server::why
