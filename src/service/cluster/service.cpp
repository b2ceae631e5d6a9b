#include "service/cluster/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "runtime/socket/local_addresses.h"
#include "runtime/socket/tcp.h"
#include "service/cluster/config.h"
#include "service/cluster_block.h"

namespace service::cluster {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kRetryMs = 1'000;  // after a failure of the store
constexpr int64_t kGoneMs = 300;     // a server that is asked whether it is there
constexpr size_t kMaxAnswer = 16 * 1024;

}  // namespace

Service::Service(const SharedParts& parts, const config::SnapshotPtr& snapshot)
    : snapshot_(snapshot),
      identity_(parts.identity),
      registry_(parts.registry),
      gate_(parts.gate),
      http_client_(parts.http_client),
      offers_(parts.offers),
      // It may have been restarted, and have lost all.
      client_([this] {
          leases_.renew_all();
          wake_.set();
      }),
      store_(client_),
      leases_(store_, *this),
      locations_(store_, [this](const std::string& coworker,
                                const base::StreamKey& stream) { return ask_coworker(coworker, stream); }),
      followed_(parts.registry, *this) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    started_ = true;
    configure(*snapshot_);
    client_.start(snapshot_->get<ServerConfig>());
    task_ = runtime::spawn("cluster", [this] { run(); });
    gate_.add(*this);
    followed_.start(snapshot_);
    return {};
}

void Service::stop() {
    if (!std::exchange(started_, false)) return;
    gate_.remove(*this);
    followed_.stop();
    if (task_) task_.cancel_and_join();
    task_ = {};
    finish();
    locations_.stop();
    client_.stop();
}

// In a coroutine of its own, because the one that stops the server may have been cancelled.
void Service::finish() {
    std::vector<base::StreamKey> streams;
    for (const auto& [stream, lease] : leases_.list()) streams.push_back(stream);
    for (const base::StreamKey& stream : streams) leases_.unpublished(stream);
    if (client_.state() != RedisClient::State::kUp || leases_.next_ms() > runtime::now_ms()) return;
    runtime::Task last = runtime::spawn("cluster", [this] { (void)leases_.work(runtime::now_ms()).has_value(); });
    while (last && !last.done() && !runtime::cancelled()) (void)last.join(Deadline::in_ms(client_.options().timeout));
    if (last) last.cancel_and_join();
}

void Service::configure(const config::Snapshot& snapshot) {
    const auto& redis = snapshot.get<ServerConfig>();
    Record self = self_record(snapshot, runtime::local_ip());
    self.fence = fmt::format("{}-{}-{}", identity_.server, identity_.service, identity_.pid);
    store_.set_lease(redis.lease);
    locations_.configure(redis.key_prefix, self);
    leases_.configure(redis.key_prefix, std::move(self), redis.lease * 1'000);
}

void Service::reload(const config::SnapshotPtr& next) {
    const config::SnapshotPtr before = std::exchange(snapshot_, next);
    if (!started_) return;
    configure(*next);
    client_.reload(next->get<ServerConfig>());
    followed_.reload(next);
    std::vector<std::string> coworkers;
    for (const config::Vhost& vhost : next->vhosts)
        std::ranges::copy(vhost.get<ClusterLookup>().coworkers, std::back_inserter(coworkers));
    locations_.keep_coworkers(coworkers);
    wake_.set();
}

void Service::run() {
    runtime::set_context_id(runtime::new_context_id());
    while (!runtime::cancelled()) {
        wake_.reset();
        int64_t next_ms = leases_.next_ms();
        const int64_t now_ms = runtime::now_ms();
        // on_up wakes it when Redis is back.
        if (client_.state() != RedisClient::State::kUp) {
            next_ms = INT64_MAX;
        } else if (next_ms <= now_ms) {
            auto worked = leases_.work(now_ms);
            if (worked) continue;
            if (worked.error().code() == Code::kRefused)
                runtime::error_some(refusal_log_, "cluster: streams cannot be registered: {}", worked.error().text());
            next_ms = now_ms + kRetryMs;
        }
        (void)wake_.wait(next_ms == INT64_MAX ? Deadline::never() : Deadline::in_ms(next_ms - now_ms));
    }
}

Leases::Times Service::times() const { return {runtime::now_ms(), base::wall_ms()}; }

// What is published at an edge is passed up, and registered by the server that takes it.
bool Service::registers(const config::Vhost& vhost) const {
    return vhost.get<ClusterLookup>().registry && snapshot_->get<ServerConfig>().enabled &&
           !(offers_.passes_up && offers_.passes_up(vhost));
}

Result<void> Service::admit(const net::Visitor& visitor, const config::Vhost& vhost) {
    if (!may_yield(visitor.action, vhost)) return {};
    return leases_.admit(visitor.key(), times());
}

bool Service::may_yield(net::Action action, const config::Vhost& vhost) const {
    return action == net::Action::kPublish && registers(vhost);
}

void Service::left(const net::Visitor& visitor, const net::Traffic&) {
    leases_.left(visitor.key());
    wake_.set();
}

bool Service::wants(const live::Stream& stream, const config::Vhost& vhost) const {
    return registers(vhost) && stream.publisher() && !stream.publisher()->is_relay();
}

bool Service::follow(live::Stream& stream, const config::Vhost&) {
    leases_.published(stream.key(), times());
    wake_.set();
    return true;
}

void Service::leave(live::Stream& stream) {
    leases_.unpublished(stream.key());
    wake_.set();
}

void Service::lease_lost(const base::StreamKey& key, const Record& winner) {
    runtime::warn_limited("cluster: {} is published at {}, too, where it began earlier: it ends here",
                          base::for_log(key.text()), winner.where());
    if (const auto stream = registry_.find(key))
        stream->revoke(fmt::format("the stream is published at {}, too, where it began earlier", winner.where()),
                       CloseReason::kPublisherReplaced);
}

bool Service::is_exclusive(const base::StreamKey& stream) const {
    const config::Vhost* vhost = snapshot_->find_vhost(stream.vhost);
    return !vhost || vhost->get<ClusterLookup>().exclusive;
}

// Its port refuses connections. That no answer comes proves nothing: the way to it may be interrupted.
bool Service::is_gone(const Record& record) {
    const auto url = ::rtmp::parse_url(record.rtmp + "/a/s");
    if (!url) return false;
    const auto socket = runtime::connect_tcp(url->host, url->port, Deadline::in_ms(kGoneMs));
    return !socket && socket.error().system_errno() == ECONNREFUSED;
}

bool Service::locates(const config::Vhost& vhost) const { return vhost.get<ClusterLookup>().locates(); }

bool Service::redirects(const config::Vhost& vhost, bool by_http) const {
    const auto& lookup = vhost.get<ClusterLookup>();
    return lookup.locates() && (by_http ? lookup.redirect : lookup.origin_cluster);
}

std::optional<Record> Service::find(const base::StreamKey& stream) {
    const config::Vhost* vhost = snapshot_->find_vhost(stream.vhost);
    if (!started_ || !vhost) return {};
    const auto& lookup = vhost->get<ClusterLookup>();
    Locations::Sources sources;
    sources.store = lookup.registry && snapshot_->get<ServerConfig>().enabled;
    if (lookup.asks_coworkers()) sources.coworkers = lookup.coworkers;
    return locations_.find(stream, sources);
}

std::vector<std::string> Service::locate(const base::StreamKey& stream, bool by_http) {
    const auto record = find(stream);
    if (!record) return {};
    const std::string& preferred = by_http ? record->http : record->rtmp;
    return {!preferred.empty() ? preferred : by_http ? record->rtmp : record->http};
}

std::string Service::redirect(const base::StreamKey& stream, bool by_http) {
    const auto here = registry_.find(stream);
    if (here && here->published()) return {};
    const auto record = find(stream);
    if (!record) return {};
    const std::string& to = by_http ? record->http : record->rtmp;
    if (!to.empty()) ++redirected_;
    return to;
}

// As origins of the older mesh ask each other.
Result<Record> Service::ask_coworker(const std::string& coworker, const base::StreamKey& stream) {
    net::HttpCall call;
    call.method = http::Method::kGet;
    call.url = fmt::format("http://{}/api/v1/clusters?vhost={}&ip={}&app={}&stream={}&coworker={}", coworker,
                           http::percent_encode(stream.vhost), http::percent_encode(stream.vhost),
                           http::percent_encode(stream.app), http::percent_encode(stream.name),
                           http::percent_encode(coworker));
    call.max_body_bytes = kMaxAnswer;
    const auto answer = TRY(http_client_.call(std::move(call), Deadline::in_ms(Locations::kCoworkerMs)));
    if (answer.status != 200) return fail(Code::kRefused, fmt::format("the answer's status is {}", answer.status));
    return parse_coworker_answer(answer.body);
}

}  // namespace service::cluster
