#pragma once
// Who wants a stream that is fetched.

#include <cstddef>

#include "live/hub/stream.h"
#include "net/sessions/session.h"

namespace service::relay {

// Viewers of its logs, its players by WebRTC, and one for all who fetch files, without servers to which it is forwarded
// or passed up.
size_t players_of(live::Stream& stream);
// The same of the stream of that name, which need not be there; with the sessions that wait for it.
size_t players_of(const live::StreamKey& key, const live::Registry& registry, const net::SessionTable& sessions);

}  // namespace service::relay
