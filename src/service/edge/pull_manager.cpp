#include "service/edge/pull_manager.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "net/admission/address_limiter.h"
#include "protocol/http/via.h"
#include "service/cluster_block.h"
#include "service/edge/params.h"

namespace service::edge {

using base::CloseReason;
using base::fail;
using base::Result;

PullManager::PullManager(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                         net::Gate& gate, OriginHealth& health, ClientTls& tls, const Identity& identity,
                         const Offers& offers)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      gate_(gate),
      health_(health),
      tls_(tls),
      identity_(identity),
      offers_(offers),
      request_name_(new_request_name()) {}

PullManager::~PullManager() { stop(); }

void PullManager::start() {
    started_ = true;
    gate_.add(*this);
    registry_.watch(*this);
}

void PullManager::stop() {
    if (!std::exchange(started_, false)) return;
    registry_.unwatch(*this);
    gate_.remove(*this);
    for (auto& [key, pull] : pulls_) pull->stop("the server stops", CloseReason::kServerStop);
    all_.cancel_and_join();
}

void PullManager::reload(const config::SnapshotPtr& next) {
    const config::SnapshotPtr before = std::exchange(snapshot_, next);
    for (auto it = pulls_.begin(); it != pulls_.end();) {
        Pull& pull = *it->second;
        const config::Vhost* vhost = fetching(*next, it->first.vhost);
        const config::Vhost* old = fetching(*before, it->first.vhost);
        if (!vhost) {
            pull.stop("the vhost is no edge any more", CloseReason::kDone);
            it = pulls_.erase(it);
            continue;
        }
        if (!old || old->get<VhostConfig>() != vhost->get<VhostConfig>() ||
            old->get<ClusterLookup>() != vhost->get<ClusterLookup>())
            pull.reconfigure();
        ++it;
    }
    registry_.wake_waiting();
}

void PullManager::source_ended(relay::SourceRunner& runner) {
    const std::unique_ptr<Pull> ended = all_.take(static_cast<Pull&>(runner));
    const auto found = pulls_.find(ended->key());
    if (found == pulls_.end() || found->second != ended.get()) return;
    record_missing(*ended);
    pulls_.erase(found);
}

void PullManager::end_for(Pull& pull, std::string_view why) {
    record_missing(pull);
    pulls_.erase(pull.key());
    pull.stop(why, CloseReason::kRefusedLimit);
}

// The address that has most of them gives way. False: that is this one, and all of its own have players.
bool PullManager::evict_one(const base::IpAddress& address) {
    std::map<base::IpAddress, size_t> counts;
    for (auto& [key, pull] : pulls_)
        if (pull->state() != Pull::State::kStreaming) ++counts[pull->address()];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    if (most == counts.end()) return false;
    const bool is_own = counts[address] >= most->second;
    Pull *unwatched = nullptr, *newest = nullptr;
    for (auto& [key, pull] : pulls_) {
        if (pull->state() == Pull::State::kStreaming) continue;
        if (pull->address() != (is_own ? address : most->first)) continue;
        if (!newest || pull->started_ms() >= newest->started_ms()) newest = pull;
        if (pull->has_players()) continue;
        if (!unwatched || pull->started_ms() < unwatched->started_ms()) unwatched = pull;
    }
    Pull* leaves = unwatched || is_own ? unwatched : newest;
    if (leaves) end_for(*leaves, "it made room for another stream");
    return leaves != nullptr;
}

// Streams that are cut into segments are followed by this process whether there are players or not, if they are
// published in the process that it replaces: files over HTTP come from here.
bool PullManager::is_kept(const live::StreamKey& key) const {
    const config::Vhost* vhost = is_in_other_process(key) ? snapshot_->find_vhost(key.vhost) : nullptr;
    return vhost && offers_.other_process->is_replaced() &&
           std::ranges::any_of(offers_.segments,
                               [&](const SegmentOffer& offer) { return offer.fragment(*vhost).has_value(); });
}

Pull* PullManager::begin(const live::StreamKey& key, const std::string& ip) {
    const auto parsed = base::IpAddress::parse(ip);
    const base::IpAddress address = parsed ? net::AddressLimiter::key_of(*parsed) : base::IpAddress();
    const auto is_of = [&](const Pull& pull) { return parsed && pull.address() == address; };
    size_t without_media = 0, of_address = 0;
    if (pulls_.size() >= kMaxOfAddress)
        for (const auto& [other, pull] : pulls_) {
            if (pull->state() == Pull::State::kStreaming) continue;
            ++without_media;
            of_address += is_of(*pull) ? 1 : 0;
        }
    const bool is_exempt = parsed && std::ranges::any_of(snapshot_->address_limits.exempt, [&](const auto& network) {
                               return network.contains(*parsed);
                           });
    // Those that are being ended may be as many again.
    const bool is_full =
        without_media >= kMaxWithoutMedia && (all_.size() - pulls_.size() >= kMaxWithoutMedia || !evict_one(address));
    if (is_full || (of_address >= kMaxOfAddress && !is_exempt)) {
        ++refused_;
        return nullptr;
    }
    PullOwner& owner = *this;
    const auto asked = asked_.find(key);
    auto pull = std::make_unique<Pull>(owner, key, address, asked == asked_.end() ? 0 : asked->second);
    if (!pull->start()) return nullptr;
    return pulls_[key] = &all_.add(std::move(pull));
}

// For a second: no list of what clients invent.
void PullManager::record_missing(const Pull& pull) {
    const int64_t now_ms = runtime::now_ms();
    if (asked_.size() >= kMaxWithoutMedia) std::erase_if(asked_, [&](const auto& one) { return one.second <= now_ms; });
    asked_.erase(pull.key());
    if (pull.attempts() > 0 && !pull.had_media() && asked_.size() < kMaxWithoutMedia)
        asked_[pull.key()] = now_ms + kAskAgainMs;
}

bool PullManager::fetches(const config::Vhost& vhost) const {
    return vhost.get<VhostConfig>().is_edge() || (offers_.locator && offers_.locator->locates(vhost));
}

const config::Vhost* PullManager::fetching(const config::Snapshot& snapshot, std::string_view name) const {
    const config::Vhost* vhost = snapshot.find_vhost(name);
    if (!vhost || !vhost->enabled) return nullptr;
    return fetches(*vhost) || (offers_.other_process && offers_.other_process->is_there()) ? vhost : nullptr;
}

std::vector<std::string> PullManager::locate(const config::Vhost& vhost, const live::StreamKey& key, bool by_http) {
    if (is_in_other_process(key)) return {kOtherProcess};
    if (!offers_.locator || !offers_.locator->locates(vhost)) return {};
    return offers_.locator->locate(key, by_http);
}

Fetching PullManager::fetching(const live::StreamKey& key) const {
    const config::Vhost* vhost = started_ ? fetching(*snapshot_, key.vhost) : nullptr;
    if (!vhost || !(fetches(*vhost) || is_in_other_process(key))) return Fetching::kNever;
    const auto found = pulls_.find(key);
    return found != pulls_.end() && found->second->is_refused() ? Fetching::kRefused : Fetching::kAsked;
}

void PullManager::stream_unpublished(live::Stream& stream) {
    const config::Vhost* vhost = fetching(*snapshot_, stream.key().vhost);
    if (!vhost || pulls_.contains(stream.key()) || stream.demand() == 0) return;
    const bool is_looked_up = fetches(*vhost) && !vhost->get<VhostConfig>().is_edge();
    if (is_looked_up || is_in_other_process(stream.key())) resume(stream.key());
}

void PullManager::other_process_changed(const live::StreamKey& key) {
    if (!started_) return;
    const auto stream = registry_.find(key);
    const auto found = pulls_.find(key);
    if (!is_in_other_process(key)) {
        if (found == pulls_.end() || found->second->server() != kOtherProcess) return;
        found->second->stop("its publisher has left", CloseReason::kStreamEnded);
        pulls_.erase(found);
        return;
    }
    if (stream && stream->published()) return;
    if (stream) stream->wake_waiting();
    if (found != pulls_.end()) return found->second->reconfigure();
    const bool is_wanted = is_kept(key) || (stream && stream->demand() > 0);
    if (is_wanted && fetching(*snapshot_, key.vhost)) (void)begin(key);
}

void PullManager::resume(const live::StreamKey& key) {
    if (!started_) return;
    if (auto found = pulls_.find(key); found != pulls_.end()) return found->second->want_again();
    (void)begin(key);
}

// A pull goes on for a client that watches; it is begun by those who were admitted by all guards.
Result<void> PullManager::check(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay || pulls_.empty()) return {};
    for (const live::StreamKey& key : visitor.played())
        if (auto found = pulls_.find(key); found != pulls_.end()) found->second->want(visitor);
    return {};
}

Result<void> PullManager::admit(const net::Visitor& visitor, const config::Vhost& vhost) {
    if (visitor.action != net::Action::kPlay) return {};
    for (const live::StreamKey& key : visitor.played())
        if (is_in_other_process(key)) TRY(fetch(key, visitor, vhost));
    if (!fetches(vhost)) return {};
    if (http::has_passed(visitor.forward_path, request_name_)) {
        ++loops_;
        return fail(CloseReason::kRefused, "this server has asked for the stream itself: that would be a loop");
    }
    for (const live::StreamKey& key : visitor.played()) TRY(fetch(key, visitor, vhost));
    return {};
}

Result<void> PullManager::fetch(const live::StreamKey& key, const net::Visitor& visitor, const config::Vhost& vhost) {
    if (auto found = pulls_.find(key); found != pulls_.end()) {
        found->second->want(visitor);
        return {};
    }
    const auto stream = registry_.find(key);
    if (stream && stream->published()) return {};
    Pull* pull = begin(key, visitor.ip);
    // An origin's own publisher may come.
    if (!pull && !vhost.get<VhostConfig>().is_edge()) return {};
    if (!pull) return fail(CloseReason::kRefusedLimit, "too many streams are being asked for at the origins");
    pull->want(visitor);
    return {};
}

}  // namespace service::edge
