#include "service/hls/serving/viewers.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/log.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"

namespace service::hls {

namespace {
constexpr int64_t kBanMs = 60'000;
// Fixed part of a viewer's memory, independent of what it sent.
constexpr size_t kViewerBytes = 2048;
}  // namespace

class Viewers::Viewer final : public net::Session, public std::enable_shared_from_this<Viewers::Viewer> {
  public:
    Viewer(net::SessionTable& table, const net::Visitor& visitor, net::AddressQuota::Share share, net::Grant stay,
           live::PlayerLease lease)
        : Session(table, visitor.id, visitor.ip),
          url_(visitor.key().text()),
          share_(std::move(share)),
          stay_(std::move(stay)),
          lease_(std::move(lease)),
          details_{visitor.tc_url, visitor.page_url, {}, visitor.param} {
        set_type(net::SessionType::kHlsPlay);
        not_a_connection();
        enter_stream(visitor.key(), false);
    }
    std::string stream_text() const override { return url_; }
    net::ClientDetails details() const override { return details_; }
    net::Traffic traffic() const override { return traffic_; }
    void kick(std::string_view reason) override { kicked_ = reason; }
    using Session::log_end;

    std::string url_;
    std::string brought_;  // the context that it sent, if different from its id
    net::AddressQuota::Share share_;
    net::Grant stay_;
    live::PlayerLease lease_;
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
    return !context.empty() && context.size() <= kMaxContextBytes && std::ranges::all_of(context, good);
}

// An id gives access to everything the viewer may fetch, so the generator of other ids is not used.
std::string Viewers::new_id() const {
    static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
    std::string id;
    do {
        uint8_t random[8];
        CHECK(RAND_bytes(random, sizeof random) == 1);
        id.clear();
        for (uint8_t byte : random) id += kDigits[byte % kDigits.size()];
    } while (sessions_.find(id));
    return id;
}

std::string Viewers::issue(std::string_view stream) {
    ViewerName name{std::string(stream), new_id()};
    issued_.insert(name);
    issue_order_.push_back(name);
    if (issue_order_.size() > kMaxIssued) {
        issued_.erase(issue_order_.front());
        issue_order_.pop_front();
    }
    return name.context;
}

std::string Viewers::id_for(const ViewerName& name) {
    if (auto it = names_.find(name); it != names_.end()) return it->second->id();
    // It may have become another session's id in the meantime.
    return issued_.contains(name) && !sessions_.find(name.context) ? name.context : new_id();
}

// Its strings are stored twice if a guard follows it.
base::Result<net::AddressQuota::Share> Viewers::reserve(const net::Visitor& visitor) {
    const size_t strings = visitor.vhost.size() + visitor.app.size() + visitor.stream.size() + visitor.param.size() +
                           visitor.tc_url.size() + visitor.page_url.size();
    return quota_.take(visitor.ip, kViewerBytes + 2 * strings);
}

base::Result<void> Viewers::asked(const ViewerName& name, const net::Visitor& visitor, int64_t idle_ms, int64_t now_ms,
                                  net::AddressQuota::Share share, net::Grant stay, live::PlayerLease lease) {
    if (banned(name)) return base::fail(base::Code::kRefused, "this viewer was ended");
    auto it = names_.find(name);
    if (it == names_.end()) {
        auto made = std::make_shared<Viewer>(sessions_, visitor, std::move(share), std::move(stay), std::move(lease));
        Viewer& viewer = *made;
        viewers_[visitor.id] = std::move(made);
        names_[{name.stream, visitor.id}] = &viewer;
        if (name.context != visitor.id) viewer.brought_ = name.context;
        it = names_.emplace(name, &viewer).first;
        issued_.erase(name);
        runtime::ContextScope scope(visitor.id);
        base::log::trace("hls-play started: {} to {}", viewer.stream_text(), visitor.ip);
    }
    it->second->idle_ms_ = idle_ms;
    it->second->until_ms_ = now_ms + idle_ms;
    return {};
}

Viewers::Found Viewers::received(const ViewerName& name, uint64_t bytes) {
    auto it = names_.find(name);
    if (it == names_.end()) return {};
    it->second->traffic_.received_bytes += bytes;
    return it->second->weak_from_this();
}

bool Viewers::sent(const Found& viewer, uint64_t bytes, int64_t now_ms) {
    const auto known = viewer.lock();
    if (!known) return false;
    known->traffic_.sent_bytes += bytes;
    known->until_ms_ = now_ms + known->idle_ms_;
    return true;
}

// banned_until_ms: its names cannot be used until then; 0: they are free at once.
void Viewers::forget(Viewer& viewer, int64_t banned_until_ms) {
    for (const std::string& context : {viewer.id(), viewer.brought_}) {
        if (context.empty()) continue;
        const ViewerName name{viewer.url_, context};
        names_.erase(name);
        if (banned_until_ms && banned_.size() < kMaxBanned) banned_[name] = banned_until_ms;
    }
}

void Viewers::end(Viewer& viewer, std::string_view why, base::CloseReason reason) {
    runtime::ContextScope scope(viewer.id());
    viewer.lease_.end();  // guards count those who stay
    viewer.stay_.end(viewer.traffic_);
    viewer.log_end(why, reason);
}

bool Viewers::is_over(Viewer& viewer, int64_t now_ms) {
    if (!viewer.kicked_.empty()) {
        forget(viewer, now_ms + kBanMs);
        end(viewer, viewer.kicked_, base::CloseReason::kKicked);
        return true;
    }
    if (viewer.until_ms_ > now_ms) return false;
    forget(viewer, 0);
    end(viewer, fmt::format("it has not asked for {} ms", viewer.idle_ms_), base::CloseReason::kIdle);
    return true;
}

// Thousands may expire at once.
bool Viewers::tick(int64_t now_ms) {
    std::erase_if(banned_, [&](const auto& entry) { return entry.second <= now_ms; });
    runtime::CpuSlice slice;
    std::string id;
    for (auto it = viewers_.begin(); it != viewers_.end(); it = viewers_.upper_bound(id)) {
        id = it->first;
        if (is_over(*it->second, now_ms)) viewers_.erase(it);
        if (!slice.step()) return false;
    }
    return true;
}

void Viewers::end_all() {
    names_.clear();
    for (auto& [id, viewer] : viewers_) end(*viewer, "the server stops", base::CloseReason::kServerStop);
    viewers_.clear();
}

}  // namespace service::hls
