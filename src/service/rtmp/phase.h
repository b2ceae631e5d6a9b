#pragma once
// Phase: the state of an RTMP connection. It determines the owner of the socket, its reader, and whether there is a
// coroutine. The diagram is in doc/architecture.md, the reasons in doc/decisions/116.
//
//   phase       coroutine               socket is owned by  input
//   kHandshake  runs                    Work                is read by the coroutine
//   kServing    runs, or is to run      Work                is read by the coroutine: commands and publishing
//   kParked     none                    Player              goes to the RTMP session at once
//   kEnded      none, or has not run    its last owner      none: the end is logged, destruction follows

#include <cstdint>

namespace service::rtmp {

enum class Phase : uint8_t { kHandshake, kServing, kParked, kEnded };

// Whether a connection in `from` may enter `to`.
constexpr bool may_enter(Phase from, Phase to) {
    switch (to) {
        case Phase::kHandshake:
            return false;  // the first phase
        case Phase::kServing:
            return from == Phase::kHandshake || from == Phase::kParked;
        case Phase::kParked:
            return from == Phase::kServing;
        case Phase::kEnded:
            return from != Phase::kEnded;
    }
    return false;
}

// Whether a coroutine runs, or has been spawned and will run.
constexpr bool has_coroutine(Phase phase) { return phase == Phase::kHandshake || phase == Phase::kServing; }

}  // namespace service::rtmp
