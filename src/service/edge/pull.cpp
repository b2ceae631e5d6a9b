#include "service/edge/pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/log.h"
#include "config/path_variables.h"
#include "convert/flv/to_rtmp.h"
#include "live/fanout/audience.h"
#include "live/fanout/live_log.h"
#include "live/hub/options.h"
#include "live/rtp/rtp_lane.h"
#include "protocol/rtmp/messages.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "runtime/socket/local_addresses.h"
#include "service/edge/params.h"
#include "service/edge/pull_connection.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

// The protocol of a pull whose origin does not determine it.
Scheme scheme_of(const VhostConfig& cluster, bool by_flv) {
    if (cluster.follow_client) return by_flv ? Scheme::kHttp : Scheme::kRtmp;
    if (cluster.protocol == "flv") return Scheme::kHttp;
    return cluster.protocol == "flvs" ? Scheme::kHttps : Scheme::kRtmp;
}

}  // namespace

std::string_view Pull::state_name(State state) {
    constexpr std::array<std::string_view, kStates> kNames = {"connecting", "waiting", "streaming", "pausing"};
    return kNames[static_cast<size_t>(state)];
}

Pull::Pull(PullOwner& owner, live::StreamKey key, const base::IpAddress& address, int64_t not_before_ms)
    : owner_(owner),
      key_(std::move(key)),
      address_(address),
      started_ms_(runtime::now_ms()),
      not_before_ms_(not_before_ms),
      wanted_ms_(started_ms_) {}

Pull::~Pull() = default;

bool Pull::start() {
    coroutine_ = runtime::spawn("edge-pull", [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void Pull::stop(std::string_view why, CloseReason reason) {
    if (ending_) return;
    ending_ = true;
    if (connection_) connection_->close(why, reason);
    coroutine_.cancel();
}

void Pull::reconfigure() {
    reconfigured_ = true;
    wake_.pulse();
    const config::Vhost* vhost = owner_.fetching(*owner_.snapshot(), key_.vhost);
    if (!vhost || !connection_) return;
    const auto& origins = vhost->get<VhostConfig>().origin;
    const auto has = [&](const std::vector<std::string>& all) { return std::ranges::find(all, origin_) != all.end(); };
    if (!has(origins) && !has(located_))
        connection_->close("its origin is no longer in the configuration", CloseReason::kDone);
}

void Pull::want(const net::Visitor& visitor) {
    wanted_ms_ = runtime::now_ms();
    again_ = true;
    // What a client claims does not take the room of those that ask after it, and a server that waits asks often.
    std::string path;
    add_to_path(path, visitor.forward_path);
    add_to_path(path, path_);
    path_ = std::move(path);
    if (attempts_ == 0) by_flv_ = visitor.type == net::SessionType::kFlvPlay;
    if (attempts_ > 0 && !params_refused_) return;
    params_ = params_for_origin(visitor.param);
    params_refused_ = false;
}

bool Pull::publishes(const live::Stream& stream) const {
    return connection_ != nullptr && stream.publisher() == static_cast<const live::PublicationOwner*>(connection_);
}

size_t players_of(live::Stream& stream) {
    size_t count = stream.has_file_viewers() ? 1 : 0;
    if (const live::RtpLane* lane = stream.rtp_lane_if_any()) count += lane->players();
    stream.for_each_log([&](live::LiveLog& log) {
        if (!convert::publishes_by_rtmp(log.key())) count += log.audience().size();
    });
    return count;
}

// Sessions in the stream, with viewers of HLS, and what they do not count: the plays of a connection that plays
// several streams. Servers to which the stream is forwarded want nothing.
size_t Pull::watchers() const {
    const auto stream = owner_.registry().find(key_);
    size_t count = 0;
    if (const net::StreamAccount* account = owner_.sessions().accounts().find(key_))
        count = account->clients() - (account->publisher() ? 1 : 0);
    return count > 0 || !stream ? count : players_of(*stream);
}

bool Pull::is_unwanted() {
    const int64_t now_ms = runtime::now_ms();
    if (has_watchers()) watched_ms_ = now_ms;
    if (now_ms - watched_ms_ < (watched_ms_ > 0 ? kUnwatchedMs : 0)) return false;
    return now_ms - wanted_ms_ >= (streaming_ms_ > 0 || watched_ms_ > 0 ? kUnwatchedMs : kAskedMs);
}

void Pull::run() {
    runtime::set_context_id(runtime::new_context_id());
    // A quarter more or less, so that the streams of an origin that broke do not all come at the same moment.
    const auto spread = static_cast<int64_t>(std::hash<std::string>()(key_.text()) % (kRoundMs / 2));
    if (const int64_t wait_ms = not_before_ms_ - runtime::now_ms(); wait_ms > 0) (void)runtime::sleep_ms(wait_ms);
    while (!ending_ && !done_ && !runtime::cancelled()) {
        const int64_t began_ms = runtime::now_ms();
        reconfigured_ = false;
        again_ = false;
        const bool was_steady = run_round();
        if (done_ && again_) done_ = false;
        if (was_steady || ending_ || done_) continue;
        state_ = State::kPausing;
        while (!reconfigured_ && !ending_ && !is_unwanted()) {
            const int64_t round_ms = nowhere_ ? kNowhereMs : kRoundMs * 3 / 4 + spread;
            const int64_t left_ms = began_ms + round_ms - runtime::now_ms();
            if (left_ms <= 0) break;
            auto waited = wake_.wait_next(Deadline::in_ms(std::min(left_ms, kNowhereMs)));
            if (!waited && (waited.error().code() != Code::kTimeout || has_moved())) break;
        }
        if (is_unwanted()) done_ = true;
    }
    owner_.pull_ended(*this);  // destroys this
}

// Its publisher has come to another server.
bool Pull::has_moved() {
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = owner_.fetching(*snapshot, key_.vhost);
    if (!vhost || nowhere_) return false;
    const auto located = owner_.locate(*vhost, key_, !is_rtmp(scheme_of(vhost->get<VhostConfig>(), by_flv_)));
    return !located.empty() && located != located_;
}

// Those that say that they have the stream, and then the others. One that hangs has its lease still: it is the last.
std::vector<std::string> Pull::origins_now(const config::Vhost& vhost) {
    const auto& cluster = vhost.get<VhostConfig>();
    const Scheme scheme = scheme_of(cluster, by_flv_);
    located_ = owner_.locate(vhost, key_, !is_rtmp(scheme));
    std::vector<std::string> all = located_;
    for (std::string& origin : owner_.origins().order(key_.vhost, cluster.origin, runtime::now_ms()))
        if (std::ranges::none_of(located_, [&](const auto& one) { return is_same_origin(one, origin, scheme); }))
            all.push_back(std::move(origin));
    std::ranges::stable_partition(all, [&](const std::string& origin) { return origin != silent_; });
    nowhere_ = all.empty();
    return all;
}

bool Pull::run_round() {
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = owner_.fetching(*snapshot, key_.vhost);
    if (!vhost) {
        done_ = true;
        return false;
    }
    const std::vector<std::string> origins = origins_now(*vhost);
    if (ending_ || runtime::cancelled()) return false;
    if (const auto stream = owner_.registry().find(key_); nowhere_ && stream && stream->published()) {
        done_ = true;  // by a publisher of this server
        return false;
    }
    for (const std::string& origin : origins) {
        auto ended = attempt(origin);
        if (ending_ || runtime::cancelled()) return false;
        if (ended) {
            done_ = true;
            return false;
        }
        const bool was_steady = streaming_ms_ > 0 && runtime::now_ms() - streaming_ms_ >= kRoundMs;
        note_failure(origin, ended.error());
        if (was_steady || reconfigured_) return true;
        if (is_unwanted()) {
            done_ = true;
            return false;
        }
    }
    return false;
}

Result<void> Pull::attempt(const std::string& origin) {
    origin_ = origin;
    ++attempts_;
    state_ = State::kConnecting;
    streaming_ms_ = 0;
    const config::SnapshotPtr snapshot = owner_.snapshot();  // keeps vhost alive
    const config::Vhost* vhost = owner_.fetching(*snapshot, key_.vhost);
    if (!vhost) return fail(Code::kNotFound, "the vhost is no edge any more");
    const auto& cluster = vhost->get<VhostConfig>();
    auto stream = owner_.registry().find_or_create(key_, live::live_options(*vhost));
    // A publisher of this server has the name.
    if (stream->published()) return {};
    const std::string name = config::PathVariables().set("vhost", key_.vhost).expand(cluster.vhost);
    const Origin where = TRY(parse_origin(origin));
    Source source = TRY(source_of(where, scheme_of(cluster, by_flv_), key_, name, params_));
    ++owner_.origins().state(origin).connections;
    for (int redirects = 0;; ++redirects) {
        PullConnection connection(*this, source, upstream_options(cluster), *vhost, stream);
        state_ = State::kConnecting;
        streaming_ms_ = 0;
        connection_ = &connection;
        auto ended = connection.run();
        connection_ = nullptr;
        if (streaming_ms_ > 0) --owner_.origins().state(origin).pulls;
        if (ended || connection.location().empty()) return ended;
        if (redirects == kMaxRedirects) return fail(Code::kProtocol, fmt::format("more than {} redirects", redirects));
        source = TRY(redirected(source, connection.location()));
        base::log::trace("edge pull: {} is redirected by {} to {}", key_.text(), origin, source.shown);
    }
}

UpstreamOptions Pull::upstream_options(const VhostConfig& cluster) const {
    const Identity& identity = owner_.identity();
    UpstreamOptions options;
    // This server first: clients may send long lists, whose end is left out.
    options.path = owner_.request_name();
    add_to_path(options.path, path_);
    options.user_agent = identity.signature;
    if (!cluster.debug_srs_upnode) return options;
    std::string ip = "127.0.0.1";
    for (const runtime::LocalAddress& address : runtime::local_addresses())
        if (!address.loopback && !address.ip.empty()) {
            ip = address.ip;
            break;
        }
    options.arguments = amf::Value::object({{"srs_sig", "SRS"},
                                            {"srs_server", identity.signature},
                                            {"srs_version", identity.version},
                                            {"srs_server_ip", ip},
                                            {"srs_pid", static_cast<int>(::getpid())}});
    return options;
}

void Pull::note_streaming(const Source& source, const std::string& ip) {
    state_ = State::kStreaming;
    streaming_ms_ = runtime::now_ms();
    had_media_ = true;
    owner_.origins().note_success(origin_);
    ++owner_.origins().state(origin_).pulls;
    error_.clear();
    silent_.clear();
    base::log::trace("edge pull: {} is pulled from {} ({}), {} ms after it was asked for", key_.text(), source.shown,
                     ip, streaming_ms_ - started_ms_);
}

void Pull::note_failure(const std::string& origin, const base::Error& error) {
    // An origin that has not got the stream works, and one that cannot be asked for such a name may.
    const bool has_no_stream = streaming_ms_ == 0 && state_ == State::kWaitingForMedia;
    const bool was_not_asked = error.code() == Code::kConfig;
    params_refused_ = error.code() == Code::kRefused;
    silent_ = error.code() == Code::kTimeout ? origin : std::string();
    if (!has_no_stream && !was_not_asked) owner_.origins().note_failure(origin, error.text(), runtime::now_ms());
    const std::string text = origin + ": " + error.text();
    if (!error_.update(text)) return;
    runtime::warn_limited("edge pull: {} from {}; other origins, and this one later, are tried", key_.text(), text);
}

}  // namespace service::edge
