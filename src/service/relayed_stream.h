#pragma once
// RelayedStream: a stream that this server fetches from another one, or passes on to one, for lists of them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/stream_key.h"

namespace service {

struct RelayedStream {
    enum class State : uint8_t { kWorks, kStarts, kFails, kIdle };
    // "works", "starts", "fails" (it is tried again), "idle": it is fetched when somebody plays it.
    static constexpr std::string_view state_name(State state) {
        constexpr std::string_view kNames[] = {"works", "starts", "fails", "idle"};
        return kNames[static_cast<size_t>(state)];
    }

    std::string_view kind;  // "ingest", "pull": by an edge, "push": up to an origin, "forward"
    base::StreamKey stream{};
    std::string server{};  // that it is connected to, or that it tries, as it may be shown; may be empty
    State state = State::kStarts;
    std::string problem{};  // the last failure; empty: it works
    uint64_t attempts = 0;
    uint64_t bytes = 0;  // of media, of this connection
};

using RelayVisit = std::function<void(RelayedStream)>;
// Visits all of a service. Does not yield.
using RelayOffer = std::function<void(const RelayVisit& visit)>;

}  // namespace service
