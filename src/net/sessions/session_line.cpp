#include "net/sessions/session_line.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <iterator>

#include "base/json.h"
#include "base/redaction.h"
#include "base/utf8.h"
#include "config/snapshot.h"
#include "net/sessions/account.h"

namespace net {

namespace {

constexpr std::array<std::string_view, kSessionFields> kNames = {"time",           "id",         "ip",
                                                                 "agent",          "page",       "token",
                                                                 "protocol",       "type",       "action",
                                                                 "vhost",          "app",        "stream",
                                                                 "started_ms",     "ended_ms",   "duration_ms",
                                                                 "received_bytes", "sent_bytes", "frames",
                                                                 "dropped",        "skips",      "skipped_bytes",
                                                                 "stalls",         "stalled_ms", "last_stall",
                                                                 "first_frame_ms", "lost",       "retransmitted",
                                                                 "reason",         "text"};

// Those that a session can have; a line that was read points to them.
constexpr std::array<std::string_view, 13> kProtocols = {"rtmp",     "http-flv", "ws-flv",  "http-ts", "ws-ts",
                                                         "http-aac", "http-mp3", "hls",     "dash",    "webrtc",
                                                         "rtsp",     "srt",      "flv-post"};

using Out = std::back_insert_iterator<std::string>;

void append_text(std::string& out, std::string_view text) {
    constexpr size_t kMaxText = 512;
    out += '"';
    for (const char c : base::utf8(text, kMaxText)) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            fmt::format_to(Out(out), "\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
    fmt::format_to(Out(out), FMT_COMPILE("{}"), number);
}

tm utc(int64_t ms) {
    const time_t seconds = ms / 1000;
    tm parts{};
    gmtime_r(&seconds, &parts);
    return parts;
}

// "2026-11-29T21:03:04.567Z", or null.
void append_time(std::string& out, int64_t ms) {
    if (ms <= 0) {
        out += "null";
        return;
    }
    const tm at = utc(ms);
    fmt::format_to(Out(out), FMT_COMPILE("\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\""), at.tm_year + 1900,
                   at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, ms % 1000);
}

void append_optional(std::string& out, int64_t number, int64_t none) {
    if (number == none)
        out += "null";
    else
        append_number(out, number);
}

struct Names {
    std::string_view vhost, app, stream;
};

// Of a session that has left its stream, from the text.
Names names_of(const ClosedSession& session) {
    if (!session.key.name.empty()) return {session.key.vhost, session.key.app, session.key.name};
    const std::string_view text = session.stream;
    const size_t first = text.find('/'), last = text.rfind('/');
    if (first == text.npos || first == last) return {};
    return {text.substr(0, first), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
}

void append_field(std::string& out, const ClosedSession& session, const Names& names, SessionField field) {
    const SessionFigures& figures = session.figures;
    switch (field) {
        case SessionField::kTime:
            return append_time(out, session.ended_ms);
        case SessionField::kId:
            return append_text(out, session.id);
        case SessionField::kIp:
            return append_text(out, session.ip);
        case SessionField::kAgent:
            return append_text(out, session.agent_text());
        case SessionField::kPage:
            return append_text(out, session.page);
        case SessionField::kToken:
            return append_text(out, session.token);
        case SessionField::kProtocol:
            return append_text(out, protocol_of(session));
        case SessionField::kType:
            return append_text(out, session_type_name(session.type));
        case SessionField::kAction:
            return append_text(out, action_of(session.type));
        case SessionField::kVhost:
            return append_text(out, names.vhost);
        case SessionField::kApp:
            return append_text(out, names.app);
        case SessionField::kStream:
            return append_text(out, names.stream);
        case SessionField::kStartedMs:
            return append_number(out, session.started_ms);
        case SessionField::kEndedMs:
            return append_optional(out, session.ended_ms, 0);
        case SessionField::kDurationMs:
            return append_number(out, session.duration_ms);
        case SessionField::kReceivedBytes:
            return append_number(out, session.traffic.received_bytes);
        case SessionField::kSentBytes:
            return append_number(out, session.traffic.sent_bytes);
        case SessionField::kFrames:
            return append_number(out, figures.frames);
        case SessionField::kDropped:
            return append_number(out, figures.dropped);
        case SessionField::kSkips:
            return append_number(out, figures.skips);
        case SessionField::kSkippedBytes:
            return append_number(out, figures.skipped_bytes);
        case SessionField::kStalls:
            return append_number(out, figures.stalls);
        case SessionField::kStalledMs:
            return append_number(out, figures.stalled_ms);
        case SessionField::kLastStall:
            return append_time(out, figures.last_stall_ms);
        case SessionField::kFirstFrameMs:
            return append_optional(out, figures.first_frame_ms, -1);
        case SessionField::kLost:
            return append_number(out, figures.lost);
        case SessionField::kRetransmitted:
            return append_number(out, figures.retransmitted);
        case SessionField::kReason:
            return append_text(out, session.ended_ms > 0 ? base::close_reason_name(session.reason) : "");
        case SessionField::kText:
            return append_text(out, session.text);
    }
}

int status_of(base::CloseReason reason) {
    if (!base::is_error(reason)) return 200;
    const bool is_refusal = reason >= base::CloseReason::kRefusedAuth && reason <= base::CloseReason::kRefused;
    return is_refusal ? 403 : 500;
}

// In quotes, as CLF has it; "-" for none.
std::string in_quotes(std::string_view text) {
    if (text.empty()) return "\"-\"";
    std::string out;
    append_text(out, text);
    return out;
}

base::CloseReason reason_of(std::string_view name) {
    const auto found = std::ranges::find(base::kCloseReasonNames, name);
    return found == base::kCloseReasonNames.end()
               ? base::CloseReason::kUnknown
               : static_cast<base::CloseReason>(found - base::kCloseReasonNames.begin());
}

class Members {
  public:
    explicit Members(const base::Json& json) : json_(json) {}
    std::string text(SessionField field) const {
        const auto found = json_.find(session_field_name(field));
        return found != json_.end() && found->is_string() ? found->get<std::string>() : std::string();
    }
    template <class Number>
    void number(SessionField field, Number& out) const {
        const auto found = json_.find(session_field_name(field));
        if (found != json_.end() && found->is_number_integer()) out = found->get<Number>();
    }

  private:
    const base::Json& json_;
};

// "2026-11-29T21:03:04.567Z"; 0: it is none.
int64_t read_time(const std::string& text) {
    tm at{};
    const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &at);
    if (!rest || *rest != '.') return 0;
    int ms = 0;
    std::from_chars(rest + 1, text.data() + text.size(), ms);
    return timegm(&at) * int64_t{1000} + std::clamp(ms, 0, 999);
}

}  // namespace

std::string_view session_field_name(SessionField field) { return kNames[static_cast<size_t>(field)]; }

std::optional<SessionField> find_session_field(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<SessionField>(found - kNames.begin());
}

const std::vector<SessionField>& all_session_fields() {
    static const std::vector<SessionField> kAll = [] {
        std::vector<SessionField> all;
        for (size_t i = 0; i < kSessionFields; ++i) all.push_back(static_cast<SessionField>(i));
        return all;
    }();
    return kAll;
}

std::string_view protocol_of(const ClosedSession& session) {
    if (!session.figures.protocol.empty()) return session.figures.protocol;
    const std::string_view type = session_type_name(session.type);
    const std::string_view first = type.substr(0, type.find('-'));
    if (first == "fmle" || first == "flash" || first == "haivision") return "rtmp";
    if (first == "rtc") return "webrtc";
    if (type == "flv-publish") return "flv-post";
    if (type == "flv-play") return "http-flv";
    return first;
}

std::string_view action_of(SessionType type) {
    const std::string_view name = session_type_name(type);
    if (name.ends_with("-pull")) return "pull";
    if (name.ends_with("-forward") || name.ends_with("-push")) return "forward";
    if (publishes(type)) return "publish";
    return is_client(type) ? "play" : "";
}

std::string session_json_line(const ClosedSession& session, const std::vector<SessionField>& fields) {
    constexpr size_t kUsualBytes = 768;
    const Names names = names_of(session);
    std::string line;
    line.reserve(kUsualBytes);
    for (const SessionField field : fields) {
        line += line.empty() ? "{\"" : ",\"";
        line += session_field_name(field);
        line += "\":";
        append_field(line, session, names, field);
    }
    line += line.empty() ? "{}" : "}";
    return base::has_secrets(line) ? base::redact(line) : line;
}

std::string session_clf_line(const ClosedSession& session) {
    const Names names = names_of(session);
    const tm at = utc(session.ended_ms);
    char time[40];
    strftime(time, sizeof time, "%d/%b/%Y:%H:%M:%S +0000", &at);
    std::string action(action_of(session.type));
    for (char& c : action) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    const bool is_known = !names.stream.empty();
    const std::string request =
        fmt::format("{} {}/{}/{} {}", action.empty() ? "CONNECT" : action,
                    names.vhost == config::kDefaultVhost ? std::string_view() : names.vhost,
                    is_known ? names.app : std::string_view(), names.stream, protocol_of(session));
    const uint64_t bytes = publishes(session.type) ? session.traffic.received_bytes : session.traffic.sent_bytes;
    std::string user = session.token.empty() ? "-" : session.token;
    std::ranges::replace_if(
        user, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }, '_');
    const std::string line = fmt::format("{} - {} [{}] {} {} {} {} {}", session.ip.empty() ? "-" : session.ip, user,
                                         time, in_quotes(request), status_of(session.reason), bytes,
                                         in_quotes(session.page), in_quotes(session.agent_text()));
    return base::has_secrets(line) ? base::redact(line) : line;
}

std::optional<int64_t> ended_ms_of(std::string_view line) {
    constexpr std::string_view kField = "\"ended_ms\":";
    const size_t at = line.find(kField);
    if (at == line.npos) return std::nullopt;
    int64_t ms = 0;
    const char* const begin = line.data() + at + kField.size();
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), ms);
    if (error != std::errc() || ms <= 0) return std::nullopt;
    return ms;
}

std::optional<ClosedSession> parse_session_line(std::string_view line) {
    const base::Json json = base::parse_json(line);
    if (!json.is_object()) return std::nullopt;
    const Members members(json);
    using enum SessionField;
    ClosedSession session;
    members.number(kEndedMs, session.ended_ms);
    if (session.ended_ms <= 0) return std::nullopt;
    session.id = members.text(kId);
    session.ip = members.text(kIp);
    session.agent = SharedText::of(members.text(kAgent));
    session.page = members.text(kPage);
    session.token = members.text(kToken);
    session.type = SessionType::find(members.text(kType));
    session.key = {members.text(kVhost), members.text(kApp), members.text(kStream)};
    if (!session.key.name.empty()) {
        session.stream = session.key.text();
        session.stream_id = stream_id(session.key);
    }
    session.text = members.text(kText);
    session.reason = reason_of(members.text(kReason));
    members.number(kStartedMs, session.started_ms);
    members.number(kDurationMs, session.duration_ms);
    members.number(kReceivedBytes, session.traffic.received_bytes);
    members.number(kSentBytes, session.traffic.sent_bytes);
    SessionFigures& figures = session.figures;
    const auto protocol = std::ranges::find(kProtocols, members.text(kProtocol));
    if (protocol != kProtocols.end()) figures.protocol = *protocol;
    members.number(kFrames, figures.frames);
    members.number(kDropped, figures.dropped);
    members.number(kSkips, figures.skips);
    members.number(kSkippedBytes, figures.skipped_bytes);
    members.number(kStalls, figures.stalls);
    members.number(kStalledMs, figures.stalled_ms);
    figures.last_stall_ms = read_time(members.text(kLastStall));
    members.number(kFirstFrameMs, figures.first_frame_ms);
    members.number(kLost, figures.lost);
    members.number(kRetransmitted, figures.retransmitted);
    return session;
}

}  // namespace net
