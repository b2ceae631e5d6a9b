#pragma once
// Why a session ended, for programs: each reason has a name that never changes, in the API, the log, the hooks and the
// metrics. The words beside it are for people.

#include <array>
#include <cstdint>
#include <string_view>

namespace base {

enum class CloseReason : uint8_t {
    kUnknown,
    // The peer's doing.
    kPeerClosed,      // it closed the connection, or said that it is done
    kConnectionLost,  // the connection broke
    kPeerTimeout,     // it did not say in time what it had to say
    kIdle,            // it has not asked for anything for a while
    kTooSlow,         // it does not take what it is sent
    kProtocolError,
    kFlood,  // it sent more than it may
    // All is well, or the stream's doing.
    kDone,
    kStreamEnded,
    kDurationOver,  // as much as it asked for was sent
    kPublisherReplaced,
    kNoViewers,  // kickoff_for_idle
    // It was not let in.
    kRefusedAuth,     // no or wrong credentials, a signature that is wrong or has expired
    kRefusedHook,     // a hook said no, or could not be asked
    kRefusedAddress,  // allow and deny
    kRefusedRefer,
    kRefusedLimit,  // too many, or too fast
    kRefusedBusy,   // the stream is being published already
    kNotFound,      // no such vhost, or it is disabled
    kRefused,       // for another reason
    // Ours.
    kKicked,  // by an operator
    kOutputFailed,
    kServerStop,
    kSystemError,
};
inline constexpr size_t kCloseReasons = static_cast<size_t>(CloseReason::kSystemError) + 1;

constexpr std::array<std::string_view, kCloseReasons> kCloseReasonNames = {
    "unknown",       "peer-closed",   "connection-lost", "peer-timeout",
    "idle",          "too-slow",      "protocol-error",  "flood",
    "done",          "stream-ended",  "duration-over",   "publisher-replaced",
    "no-viewers",    "refused-auth",  "refused-hook",    "refused-address",
    "refused-refer", "refused-limit", "refused-busy",    "not-found",
    "refused",       "kicked",        "output-failed",   "server-stop",
    "system-error"};

constexpr std::string_view close_reason_name(CloseReason reason) {
    return kCloseReasonNames[static_cast<size_t>(reason)];
}

// Whether something is wrong: with the peer, the network, who may what, or us. Leaving is no error.
constexpr bool is_error(CloseReason reason) {
    switch (reason) {
        case CloseReason::kPeerTimeout:
        case CloseReason::kTooSlow:
        case CloseReason::kProtocolError:
        case CloseReason::kFlood:
        case CloseReason::kRefusedAuth:
        case CloseReason::kRefusedHook:
        case CloseReason::kRefusedAddress:
        case CloseReason::kRefusedRefer:
        case CloseReason::kRefusedLimit:
        case CloseReason::kRefusedBusy:
        case CloseReason::kNotFound:
        case CloseReason::kRefused:
        case CloseReason::kOutputFailed:
        case CloseReason::kSystemError:
            return true;
        default:
            return false;
    }
}

}  // namespace base
