#pragma once
// The bytes of a session, a stream or a vhost.

#include <cstdint>

namespace net {

struct Traffic {
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;

    Traffic& operator+=(const Traffic& more) {
        received_bytes += more.received_bytes;
        sent_bytes += more.sent_bytes;
        return *this;
    }
    friend bool operator==(const Traffic&, const Traffic&) = default;
};

}  // namespace net
