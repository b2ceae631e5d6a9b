#include "service/hls/viewers.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"
#include "runtime/coroutine.h"

namespace service::hls {

namespace {
constexpr int64_t kBanMs = 60'000;
}

class Viewers::Viewer final : public net::Session {
  public:
    Viewer(net::SessionTable& table, std::string id, const net::Visitor& visitor, net::Stay stay)
        : Session(table, std::move(id), visitor.ip),
          url_(fmt::format("{}/{}/{}", visitor.vhost, visitor.app, visitor.stream)),
          stay_(std::move(stay)),
          details_{visitor.tc_url, visitor.page_url, {}, visitor.param} {
        set_type(net::SessionType::kHlsPlay);
        not_a_connection();
        enter_stream(visitor.vhost, visitor.app, visitor.stream, false);
    }
    std::string stream_url() const override { return url_; }
    net::ClientDetails details() const override { return details_; }
    net::Traffic traffic() const override { return traffic_; }
    void kick(std::string_view reason) override { kicked_ = reason; }
    using Session::log_end;

    std::string url_;
    net::Stay stay_;
    net::ClientDetails details_;
    net::Traffic traffic_;
    std::string kicked_;
    int64_t until_ms_ = 0;
    int64_t idle_ms_ = 0;
};

Viewers::Viewers(net::SessionTable& sessions) : sessions_(sessions) {}

Viewers::~Viewers() { end_all(); }

bool Viewers::is_context(std::string_view context) {
    auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !context.empty() && context.size() <= kMostContextBytes && std::ranges::all_of(context, good);
}

base::Result<void> Viewers::asked(std::string_view context, const net::Visitor& visitor, int64_t idle_ms,
                                  size_t max_connections, int64_t now_ms, net::Stay stay) {
    if (banned(context)) return base::fail(base::Code::kRefused, "this viewer was ended");
    auto it = viewers_.find(context);
    if (it == viewers_.end()) {
        TRY(sessions_.admit(max_connections));
        // A context that is none of ours may be longer than a session's id.
        const bool fits = context.size() <= net::SessionTable::kMostIdBytes;
        auto viewer = std::make_unique<Viewer>(sessions_, fits ? std::string(context) : runtime::new_context_id(),
                                               visitor, std::move(stay));
        runtime::ContextScope scope(viewer->id());
        base::log::trace("hls-play started: {} to {}", viewer->stream_url(), visitor.ip);
        it = viewers_.emplace(std::string(context), std::move(viewer)).first;
    }
    if (it->second->url_ != fmt::format("{}/{}/{}", visitor.vhost, visitor.app, visitor.stream))
        return base::fail(base::Code::kRefused, "this viewer watches another stream");
    it->second->idle_ms_ = idle_ms;
    it->second->until_ms_ = now_ms + idle_ms;
    return {};
}

bool Viewers::watches(std::string_view context, std::string_view stream_url) const {
    auto it = viewers_.find(context);
    return it != viewers_.end() && it->second->url_ == stream_url;
}

bool Viewers::received(std::string_view context, uint64_t bytes) {
    auto it = viewers_.find(context);
    if (it != viewers_.end()) it->second->traffic_.received_bytes += bytes;
    return it != viewers_.end();
}

bool Viewers::sent(std::string_view context, uint64_t bytes, int64_t now_ms) {
    auto it = viewers_.find(context);
    if (it == viewers_.end()) return false;
    Viewer& viewer = *it->second;
    viewer.traffic_.sent_bytes += bytes;
    viewer.until_ms_ = now_ms + viewer.idle_ms_;
    return true;
}

void Viewers::end(Viewer& viewer, std::string_view why, base::CloseReason reason) {
    runtime::ContextScope scope(viewer.id());
    viewer.stay_.end(viewer.traffic_);
    viewer.log_end(why, reason);
}

void Viewers::tick(int64_t now_ms) {
    std::erase_if(banned_, [&](const auto& entry) { return entry.second <= now_ms; });
    std::erase_if(viewers_, [&](auto& entry) {
        Viewer& viewer = *entry.second;
        if (!viewer.kicked_.empty()) {
            if (banned_.size() < kMostBanned) banned_[entry.first] = now_ms + kBanMs;
            end(viewer, viewer.kicked_, base::CloseReason::kKicked);
            return true;
        }
        if (viewer.until_ms_ > now_ms) return false;
        end(viewer, fmt::format("it has not asked for {} ms", viewer.idle_ms_), base::CloseReason::kIdle);
        return true;
    });
}

void Viewers::end_all() {
    for (auto& [context, viewer] : viewers_) end(*viewer, "the server stops", base::CloseReason::kServerStop);
    viewers_.clear();
}

}  // namespace service::hls
