#pragma once
// Phase: the state of an RTMP connection. It determines the owner of the socket, its reader, and whether there is a
// coroutine. The diagram is in doc/architecture.md, the reasons in doc/decisions/116.
//
//   phase       coroutine               socket is owned by       input
//   kHandshake  runs                    Work                     is read by the coroutine
//   kServing    runs                    Work                     is read by the coroutine: commands and publishing
//   kParked     none                    Player, or SharedSocket  goes to the RTMP session at once
//   kAsking     waits for a guard       SharedSocket             waits in Work; players continue, and may all end
//   kResuming   has not run yet         Player, or SharedSocket  waits in Work
//   kEnded      none, or has not run    its last owner           none: the end is logged, destruction follows

#include <cstdint>

namespace service::rtmp {

enum class Phase : uint8_t { kHandshake, kServing, kParked, kAsking, kResuming, kEnded };

// Whether a connection in `from` may enter `to`.
constexpr bool may_enter(Phase from, Phase to) {
    switch (to) {
        case Phase::kHandshake:
            return false;  // the first phase
        case Phase::kServing:
            return from == Phase::kHandshake || from == Phase::kAsking || from == Phase::kResuming;
        case Phase::kParked:
            return from == Phase::kServing || from == Phase::kAsking || from == Phase::kResuming;
        case Phase::kAsking:
        case Phase::kResuming:
            return from == Phase::kParked;
        case Phase::kEnded:
            return from != Phase::kEnded;
    }
    return false;
}

// Whether a coroutine runs, or has been spawned and will run.
constexpr bool has_coroutine(Phase phase) { return phase != Phase::kParked && phase != Phase::kEnded; }

// Whether input is kept until a coroutine takes over.
constexpr bool input_waits(Phase phase) { return phase == Phase::kAsking || phase == Phase::kResuming; }

}  // namespace service::rtmp
