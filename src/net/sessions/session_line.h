#pragma once
// A closed session as one line of text, for files and lists: JSON, or the common log format; and the reverse for JSON.
// A ClosedSession's texts are cut already; what could be a secret is hidden. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/sessions/closed_sessions.h"

namespace net {

// The fields of a line, in its order. kTime is the time of the end as people read it, UTC.
enum class SessionField : uint8_t {
    kTime,
    kId,
    kIp,
    kAgent,
    kPage,
    kToken,
    kProtocol,
    kType,
    kAction,
    kVhost,
    kApp,
    kStream,
    kStartedMs,
    kEndedMs,
    kDurationMs,
    kReceivedBytes,
    kSentBytes,
    kFrames,
    kDropped,
    kSkips,
    kSkippedBytes,
    kStalls,
    kStalledMs,
    kLastStall,
    kFirstFrameMs,
    kLost,
    kRetransmitted,
    kReason,
    kText,
};
inline constexpr size_t kSessionFields = static_cast<size_t>(SessionField::kText) + 1;
std::string_view session_field_name(SessionField field);
// Nothing: there is no such field.
std::optional<SessionField> find_session_field(std::string_view name);
const std::vector<SessionField>& all_session_fields();

// "rtmp", "http-ts", "hls", "webrtc", "rtsp", "srt": a literal.
std::string_view protocol_of(const ClosedSession& session);
// "publish", "play", "pull" and "forward" of this server itself; empty: neither came to that.
std::string_view action_of(SessionType type);

// One JSON object without an end of line. Times of a session that has not ended are null, and so is what was not
// measured.
std::string session_json_line(const ClosedSession& session, const std::vector<SessionField>& fields);
// As web servers write it ("combined"), for their tools: the user is the token, the request is "PLAY /live/cam rtmp",
// the status follows from the reason (200, 403 for a refusal, 500 for another error), the size is what was sent to a
// player, or received from a publisher.
std::string session_clf_line(const ClosedSession& session);

// Nothing: it is no line of session_json_line(), or has no end. Fields that it does not have stay empty.
std::optional<ClosedSession> parse_session_line(std::string_view line);
// The number of "ended_ms" in a line, without reading the rest; nothing: there is none.
std::optional<int64_t> ended_ms_of(std::string_view line);

}  // namespace net
