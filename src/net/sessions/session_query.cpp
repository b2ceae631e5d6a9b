#include "net/sessions/session_query.h"

namespace net {

namespace {

// Whether the wanted text is the whole of it, or what follows a slash.
bool ends_with_name(std::string_view text, std::string_view wanted) {
    if (!text.ends_with(wanted)) return false;
    return text.size() == wanted.size() || text[text.size() - wanted.size() - 1] == '/';
}

}  // namespace

bool SessionQuery::matches(const ClosedSession& session) const {
    if (session.started_ms > to_ms) return false;
    if (session.ended_ms > 0 && session.ended_ms < from_ms) return false;
    if (!stream.empty() && session.stream_id != stream && !ends_with_name(session.stream, stream)) return false;
    return client.empty() || session.id == client || session.ip == client || (finds_tokens && session.token == client);
}

}  // namespace net
