#include "service/edge/pull.h"

#include <unistd.h>

#include <algorithm>

#include "config/path_variables.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/local_addresses.h"
#include "service/edge/params.h"
#include "service/relay/srt_source.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

net::SessionType edge_pull_type() {
    static const net::SessionType kType = net::SessionType::add("edge-pull", true);
    return kType;
}

// The protocol of a pull whose origin does not determine it.
Scheme scheme_of(const VhostConfig& cluster, bool by_flv) {
    if (cluster.follow_client) return by_flv ? Scheme::kHttp : Scheme::kRtmp;
    if (cluster.protocol == "flv") return Scheme::kHttp;
    return cluster.protocol == "flvs" ? Scheme::kHttps : Scheme::kRtmp;
}

}  // namespace

Pull::Pull(PullOwner& owner, live::StreamKey key, const base::IpAddress& address, int64_t not_before_ms)
    : SourceRunner(owner, {.log_name = "edge pull",
                           .session_type = edge_pull_type(),
                           .key = std::move(key),
                           .not_before_ms = not_before_ms}),
      owner_(owner),
      address_(address) {}

void Pull::reconfigure() {
    begin_again();
    const config::Vhost* vhost = owner_.fetching(*owner_.snapshot(), key().vhost);
    if (!vhost) return;
    const auto origins = shown_origins(vhost->get<VhostConfig>().origin);
    const auto has = [&](const std::vector<std::string>& all) { return std::ranges::find(all, server()) != all.end(); };
    if (!has(origins) && !has(located_))
        close_connection("its origin is no longer in the configuration", CloseReason::kDone);
}

void Pull::want(const net::Visitor& visitor) {
    SourceRunner::want();
    // What a client claims does not take the room of those that ask after it, and a server that waits asks often.
    std::string path;
    add_to_path(path, visitor.forward_path);
    add_to_path(path, path_);
    path_ = std::move(path);
    if (attempts() == 0) by_flv_ = visitor.type == net::SessionType::kFlvPlay;
    if (attempts() > 0 && !params_refused_) return;
    if (params_refused_) forget_refusal();
    params_ = params_for_origin(visitor.param);
    params_refused_ = false;
}

// Those that are known to have it come first. One that did not answer is the last.
std::vector<std::string> Pull::servers_now(const config::Vhost& vhost) {
    const auto& cluster = vhost.get<VhostConfig>();
    const Scheme scheme = scheme_of(cluster, by_flv_);
    located_ = owner_.locate(vhost, key(), !relay::is_rtmp(scheme));
    std::vector<std::string> all = located_;
    for (std::string& origin : owner_.health().order(key().vhost, shown_origins(cluster.origin), runtime::now_ms()))
        if (std::ranges::none_of(located_, [&](const auto& one) { return is_same_origin(one, origin, scheme); }))
            all.push_back(std::move(origin));
    std::ranges::stable_partition(all, [&](const std::string& origin) { return origin != silent_; });
    return all;
}

// From the process that serves beside this one while the server is being upgraded.
Result<std::unique_ptr<relay::Source>> Pull::source_of(OtherProcess& other) {
    relay::BodySourceOptions options;
    options.target = TRY(target_of(TRY(parse_origin(kOtherProcess)), Scheme::kRtmp, key(), key().vhost, {}));
    options.tls = &owner_.tls();
    options.connect = [&other] { return other.connect(); };
    return relay::make_body_source(std::move(options));
}

Result<std::unique_ptr<relay::Source>> Pull::make_source(const std::string& origin, const config::Vhost& vhost) {
    if (origin == kOtherProcess && owner_.other_process()) return source_of(*owner_.other_process());
    const auto& cluster = vhost.get<VhostConfig>();
    const std::string name = config::PathVariables().set("vhost", key().vhost).expand(cluster.vhost);
    const Origin where = TRY(find_origin(cluster.origin, origin));
    // This server first: clients may send long lists, whose end is left out.
    std::string path = owner_.request_name();
    add_to_path(path, path_);
    if (where.is_srt()) {
        auto target = TRY(srt_target_of(where, ::srt::StreamMode::kRequest, key(), name, params_, path));
        ++owner_.health().state(origin).connections;
        return relay::make_srt_source({.target = std::move(target), .gives_way = true});
    }
    relay::BodySourceOptions options;
    options.target = TRY(target_of(where, scheme_of(cluster, by_flv_), key(), name, params_));
    options.path = std::move(path);
    options.user_agent = owner_.identity().signature;
    if (cluster.debug_srs_upnode) options.arguments = arguments();
    options.tls = &owner_.tls();
    ++owner_.health().state(origin).connections;
    return relay::make_body_source(std::move(options));
}

amf::Value Pull::arguments() const {
    const Identity& identity = owner_.identity();
    return amf::Value::object({{"srs_sig", "SRS"},
                               {"srs_server", identity.signature},
                               {"srs_version", identity.version},
                               {"srs_server_ip", runtime::local_ip()},
                               {"srs_pid", static_cast<int>(::getpid())}});
}

void Pull::on_streaming() {
    owner_.health().record_success(server());
    ++owner_.health().state(server()).pulls;
    silent_.clear();
}

void Pull::on_streaming_ended() { --owner_.health().state(server()).pulls; }

int64_t Pull::on_failure(const base::Error& error) {
    // An origin that has not got the stream works, and one that cannot be asked for such a name may.
    const bool has_no_stream = state() == State::kWaitingForMedia;
    const bool was_not_asked = error.code() == Code::kConfig;
    params_refused_ = error.code() == Code::kRefused;
    silent_ = error.code() == Code::kTimeout ? server() : std::string();
    if (!has_no_stream && !was_not_asked) owner_.health().record_failure(server(), error.text(), runtime::now_ms());
    // A passphrase that is wrong is so for every client, and costs the origin 2 ms of its processor each time.
    return error.close_reason() == CloseReason::kRefusedAuth && !is_streaming() ? kFirstPauseMs : 0;
}

}  // namespace service::edge
