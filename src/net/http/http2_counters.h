#pragma once
// Http2Counters: what clients of HTTP/2 have done, for metrics.

#include <cstdint>

namespace net {

struct Http2Counters {
    uint64_t connections = 0;
    uint64_t requests = 0;
    // Connections that were ended for it:
    uint64_t frame_floods = 0;  // frames that ask for nothing
    uint64_t reset_floods = 0;  // streams that were reset
    uint64_t field_floods = 0;  // fields far beyond the limit
    uint64_t protocol_errors = 0;
    uint64_t too_slow = 0;  // no preface, or nothing of what was sent was read
};

// Of all servers of this process.
Http2Counters& http2_counters();

}  // namespace net
