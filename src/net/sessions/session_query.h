#pragma once
// SessionQuery: which of the sessions that are known, present or past, are wanted. Pure.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "net/sessions/closed_sessions.h"

namespace net {

struct SessionQuery {
    // Wall clock: sessions that were there at some time from from_ms to to_ms.
    int64_t from_ms = 0;
    int64_t to_ms = std::numeric_limits<int64_t>::max();
    std::string stream{};  // its name, "app/name", "vhost/app/name", or its id; empty: any
    std::string client{};  // the session's id, the address, or the token; empty: any
    size_t most = 0;       // for reading files: enough are found then
    // Whether client may be a token: who may not see tokens could guess them.
    bool finds_tokens = true;

    bool matches(const ClosedSession& session) const;
};

struct PastSessions {
    std::vector<ClosedSession> sessions{};  // the newest first
    bool complete = true;                   // false: older ones may be in the files, beyond a limit
};

}  // namespace net
