#include "net/session.h"

#include <algorithm>

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
    CHECK(id.size() <= id_.size());
    std::ranges::copy(id, id_.begin());
    table_.sessions_.push_back(this);
}

Session::~Session() {
    auto& sessions = table_.sessions_;
    sessions[place_] = sessions.back();
    sessions[place_]->place_ = place_;
    sessions.pop_back();
}

int64_t Session::alive_ms() const { return base::wall_ms() - started_ms_; }

void Session::log_end(std::string_view why) {
    Traffic bytes = traffic();
    base::log::trace("{} ended: {} from {}, {}, {} ms, received {} bytes, sent {} bytes", session_type_name(type_),
                     stream_url(), ip_, why, alive_ms(), bytes.received_bytes, bytes.sent_bytes);
}

Session* SessionTable::find(std::string_view id) const {
    auto it = std::ranges::find(sessions_, id, &Session::id);
    return it == sessions_.end() ? nullptr : *it;
}

base::Result<void> SessionTable::admit(size_t max_connections) {
    if (max_connections && sessions_.size() >= max_connections) {
        ++refused_total_;
        return base::fail(base::Code::kLimit,
                          fmt::format("{} connections, the limit of max_connections", sessions_.size()));
    }
    return {};
}

void SessionTable::for_each(const std::function<void(Session&)>& visit) const {
    for (Session* session : sessions_) visit(*session);
}

}  // namespace net
