#include "net/session.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"

namespace net {

std::string_view session_type_name(SessionType type) {
    switch (type) {
        case SessionType::kNone:
            return "unknown";
        case SessionType::kRtmp:
            return "rtmp";
        case SessionType::kRtmpPlay:
            return "rtmp-play";
        case SessionType::kFmlePublish:
            return "fmle-publish";
        case SessionType::kFlashPublish:
            return "flash-publish";
        case SessionType::kHaivisionPublish:
            return "haivision-publish";
        case SessionType::kFlvPlay:
            return "flv-play";
        case SessionType::kHlsPlay:
            return "hls-play";
        case SessionType::kRtmpForward:
            return "rtmp-forward";
        case SessionType::kHttp:
            return "http";
    }
    return "unknown";
}

Session::Session(SessionTable& table, std::string_view id, std::string ip)
    : Session(table, id, std::move(ip), Past{base::wall_ms()}) {
    ++table_.accepted_total_;
}

Session::Session(SessionTable& table, std::string_view id, std::string ip, const Past& past)
    : table_(table),
      ip_(std::move(ip)),
      started_ms_(past.started_ms),
      place_(static_cast<uint32_t>(table.sessions_.size())) {
    CHECK(id.size() <= SessionTable::kMostIdBytes);
    table_.sessions_.push_back({this, SessionTable::pack(id)});
    table_.limiter_.opened(ip_);
}

Session::~Session() {
    not_a_connection();
    auto& sessions = table_.sessions_;
    sessions[place_] = sessions.back();
    sessions[place_].session->place_ = place_;
    sessions.pop_back();
}

std::string Session::id() const {
    const SessionTable::Id& id = table_.sessions_[place_].id;
    return {id.data(), strnlen(id.data(), id.size())};
}

void Session::set_type(SessionType type) {
    if (is_client(type) && !is_client(type_)) ++table_.clients_total_;
    type_ = type;
}

void Session::not_a_connection() {
    if (is_connection_) table_.limiter_.closed(ip_, base::monotonic_ms());
    is_connection_ = false;
}

int64_t Session::alive_ms() const { return base::wall_ms() - started_ms_; }

void Session::log_end(std::string_view why, base::CloseReason reason) {
    note_reason(reason);
    Traffic bytes = traffic();
    base::log::trace("{} ended: {} from {}, {}, {} ms, received {} bytes, sent {} bytes, {}", session_type_name(type_),
                     stream_url(), ip_, why, alive_ms(), bytes.received_bytes, bytes.sent_bytes,
                     base::close_reason_name(reason_));
    if (type_ == SessionType::kHttp) return table_.closed_.count(reason_);
    table_.closed_.add(
        {id(), ip_, type_, stream_url(), started_ms_, base::wall_ms(), bytes, reason_, std::string(why)});
}

SessionTable::Id SessionTable::pack(std::string_view id) {
    Id packed{};
    std::ranges::copy(id.substr(0, packed.size()), packed.begin());
    return packed;
}

Session* SessionTable::find(std::string_view id) const {
    if (id.empty() || id.size() > kMostIdBytes) return nullptr;
    auto it = std::ranges::find(sessions_, pack(id), &Place::id);
    return it == sessions_.end() ? nullptr : it->session;
}

base::Result<void> SessionTable::admit(size_t max_connections) {
    if (max_connections && sessions_.size() >= max_connections) {
        ++refused_total_;
        return base::fail(base::Code::kLimit,
                          fmt::format("{} connections, the limit of max_connections", sessions_.size()));
    }
    return {};
}

base::Result<void> SessionTable::admit_connection(size_t max_connections, std::string_view ip) {
    TRY(admit(max_connections));
    auto admitted = limiter_.admit(ip, base::monotonic_ms());
    if (!admitted) ++refused_total_;
    return admitted;
}

void SessionTable::set_limits(AddressLimiter::Options options) {
    if (options == limiter_.options()) return;
    limiter_.set_options(std::move(options));
    if (!limiter_.on()) return;
    for (const Place& place : sessions_)
        if (place.session->is_connection_) limiter_.opened(place.session->ip_);
}

void SessionTable::log_refusal(std::string_view what, std::string_view ip, const base::Error& error) {
    constexpr int64_t kIntervalMs = 1000;
    const int64_t now = base::monotonic_ms();
    if (refusal_logged_ms_ && now < refusal_logged_ms_ + kIntervalMs) {
        ++refusals_unlogged_;
        return;
    }
    std::string more;
    if (refusals_unlogged_ > 0)
        more = fmt::format(" ({} more were refused since the last such line)", refusals_unlogged_);
    base::log::warn("{} connection from {} refused: {}{}", what, ip, error.text(), more);
    refusal_logged_ms_ = now;
    refusals_unlogged_ = 0;
}

void SessionTable::for_each(const std::function<void(Session&)>& visit) const {
    for (const Place& place : sessions_) visit(*place.session);
}

}  // namespace net
