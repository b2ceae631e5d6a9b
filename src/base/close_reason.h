#pragma once
// Why a session ended, for programs: each reason has a name that never changes, in the API, the log, the hooks and the
// metrics. The accompanying text is for people.

#include <array>
#include <cstdint>
#include <string_view>

namespace base {

enum class CloseReason : uint8_t {
    kUnknown,
    // Caused by the peer.
    kPeerClosed,      // it closed the connection, or sent its goodbye
    kConnectionLost,  // the connection broke
    kPeerTimeout,     // it did not send what was required in time
    kIdle,            // it has not requested anything for a while
    kTooSlow,         // it does not read fast enough
    kProtocolError,
    kFlood,  // it sent more than allowed
    // Regular ends, and ends caused by the stream.
    kDone,
    kStreamEnded,
    kDurationOver,  // the requested duration was sent
    kPublisherReplaced,
    kNoViewers,  // kickoff_for_idle
    // The session was not admitted.
    kRefusedAuth,     // no or wrong credentials, a signature that is wrong or has expired
    kRefusedHook,     // a hook refused, or could not be reached
    kRefusedAddress,  // allow and deny
    kRefusedRefer,
    kRefusedLimit,  // too many, or too fast
    kRefusedBusy,   // the stream already has a publisher
    kNotFound,      // no such vhost, or it is disabled
    kRefused,       // for another reason
    // Caused by this server.
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

// Whether the reason is an error: of the peer, the network, the access rules, or ours. A client that leaves is no
// error.
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
