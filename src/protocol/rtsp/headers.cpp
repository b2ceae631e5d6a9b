#include "protocol/rtsp/headers.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "protocol/http/headers.h"
#include "protocol/rtsp/text.h"

namespace rtsp {

using base::Code;

namespace {

constexpr int64_t kMaxSeconds = 1'000'000'000;

// "12", "12.345", "0:02:03.4"; in milliseconds.
std::optional<int64_t> npt_ms(std::string_view text) {
    int64_t seconds = 0;
    int parts = 0;
    const bool clock = text.contains(':');
    std::string_view whole = take_until(text, '.');
    while (!whole.empty()) {
        const auto part = number<uint32_t>(take_until(whole, ':'));
        if (!part || ++parts > 3) return std::nullopt;
        seconds = seconds * 60 + *part;
        if (seconds > kMaxSeconds) return std::nullopt;
    }
    if (parts == 0 || (clock && parts != 3)) return std::nullopt;
    int64_t ms = 0;
    if (!std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
    for (size_t i = 0; i < 3; ++i) ms = ms * 10 + (i < text.size() ? text[i] - '0' : 0);
    return seconds * 1000 + ms;
}

bool is_session_character(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           std::string_view("$-_.+=/@:%").contains(c);
}

}  // namespace

base::Result<SessionField> parse_session(std::string_view text) {
    SessionField session;
    session.id = take_until(text, ';');
    if (session.id.empty() || session.id.size() > kMaxSessionId ||
        !std::ranges::all_of(session.id, is_session_character))
        return base::fail(Code::kProtocol, "Session: no valid identifier");
    while (!text.empty()) {
        std::string_view value = take_until(text, ';');
        if (!http::equal_ignoring_case(take_until(value, '='), "timeout")) continue;
        if (const auto seconds = number<uint32_t>(http::trim(value)); seconds && *seconds > 0)
            session.timeout_s = *seconds;
    }
    return session;
}

std::string write(const SessionField& session) { return fmt::format("{};timeout={}", session.id, session.timeout_s); }

base::Result<Range> parse_range(std::string_view text) {
    std::string_view value = take_until(text, ';');  // ";time=" is when to begin: at once
    const size_t equals = value.find('=');
    if (equals == std::string_view::npos || equals == 0) return base::fail(Code::kProtocol, "Range: no unit");
    const std::string_view unit = take_until(value, '=');
    Range range;
    if (!http::equal_ignoring_case(unit, "npt")) {
        range.unit = Range::Unit::kOther;
        return range;
    }
    const size_t dash = value.find('-');
    const std::string_view begin = http::trim(value.substr(0, dash));
    const std::string_view end =
        dash == std::string_view::npos ? std::string_view() : http::trim(value.substr(dash + 1));
    range.from_now = http::equal_ignoring_case(begin, "now");
    if (!range.from_now) range.begin_ms = npt_ms(begin);
    range.end_ms = npt_ms(end);
    if ((!range.from_now && !range.begin_ms && !begin.empty()) || (!range.end_ms && !end.empty()))
        return base::fail(Code::kProtocol, "Range: npt without a time");
    return range;
}

std::string write(const std::vector<RtpInfo>& tracks) {
    std::string out;
    for (const RtpInfo& track : tracks) {
        base::append_format(out, "{}url={}", out.empty() ? "" : ",", track.url);
        if (track.sequence) base::append_format(out, ";seq={}", *track.sequence);
        if (track.timestamp) base::append_format(out, ";rtptime={}", *track.timestamp);
    }
    return out;
}

// A URL may contain commas: a track begins at "url=" only.
std::vector<RtpInfo> parse_rtp_info(std::string_view text) {
    std::vector<RtpInfo> tracks;
    while (!text.empty() && tracks.size() < kMaxRtpInfos) {
        size_t end = text.find(",url=", 1);
        end = std::min({end, text.find(", url=", 1), text.size()});
        std::string_view one = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        RtpInfo track;
        while (!one.empty()) {
            std::string_view value = take_until(one, ';');
            const std::string_view name = take_until(value, '=');
            if (http::equal_ignoring_case(name, "url")) track.url = value;
            if (http::equal_ignoring_case(name, "seq")) track.sequence = number<uint16_t>(value);
            if (http::equal_ignoring_case(name, "rtptime")) track.timestamp = number<uint32_t>(value);
        }
        if (!track.url.empty()) tracks.push_back(std::move(track));
    }
    return tracks;
}

}  // namespace rtsp
