#pragma once
// Players that wait until their stream is published: all protocols have one wait, one quota and one set of answers.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "live/hub/stream.h"
#include "net/sessions/session.h"
#include "service/shared_parts.h"

namespace service {

// A stream that is fetched from another server is waited for so long, ms.
constexpr int64_t kFetchedWithinMs = 10'000;

struct StreamWait {
    net::SessionTable& sessions;  // has the quota: max_waiting_players, address_limits.waiting_players
    const Offers& offers;
    std::string ip;                         // of the player
    runtime::ByteStream* client = nullptr;  // the wait ends when the client leaves
    // False: it ends, because the server stops. Checked after wake_waiting() of the stream. Must not yield.
    std::function<bool()> may_wait{};
    // A publisher of this server is awaited, too: whether the stream is fetched does not matter.
    bool for_publisher = false;
    int64_t limit_ms = kFetchedWithinMs;
};

// Until the stream is published. kNotFound, with the reason: it is not, or too many players wait. kCancelled: the
// client left. The caller holds a live::PlayerLease, so that what is fetched goes on. Yields.
base::Result<void> await_stream(live::Stream& stream, const StreamWait& wait);

}  // namespace service
