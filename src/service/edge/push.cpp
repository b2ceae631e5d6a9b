#include "service/edge/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "config/path_variables.h"
#include "convert/flv/to_rtmp.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "service/edge/params.h"
#include "service/edge/pull.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kDrainMs = 2'000;   // for what was published before the end
constexpr int64_t kSteadyMs = 3'000;  // a connection that lasts this long counts as working

}  // namespace

net::SessionType edge_push_type() {
    static const net::SessionType kType = net::SessionType::add("edge-push", false);
    return kType;
}

std::string_view Push::state_name(State state) {
    constexpr std::array<std::string_view, kStates> kNames = {"connecting", "publishing", "waiting"};
    return kNames[static_cast<size_t>(state)];
}

Push::Push(PushOwner& owner, base::Ref<live::Stream> stream, std::string path)
    : owner_(owner),
      stream_(std::move(stream)),
      path_(std::move(path)),
      id_(runtime::new_context_id()),
      params_(stream_->publisher() ? params_for_origin(stream_->publisher()->facts().params) : std::string()),
      without_since_ms_(runtime::now_ms()) {}

Push::~Push() = default;

bool Push::start() {
    coroutine_ = runtime::spawn("edge-push", [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void Push::finish() {
    if (ending_) return;
    ending_ = true;
    if (!viewer_ || over_) return coroutine_.cancel();
    drained_by_ = Deadline::in_ms(kDrainMs);
    viewer_->end_with_stream(true);
    wake_.pulse();
}

void Push::stop() {
    ending_ = true;
    coroutine_.cancel();
}

void Push::kick(std::string_view why) {
    if (viewer_) viewer_->abort(why, CloseReason::kKicked);
}

void Push::reconfigure() {
    const config::Vhost* vhost = find_edge(*owner_.snapshot(), stream_->key().vhost);
    if (!vhost || !viewer_) return;
    const auto& origins = vhost->get<VhostConfig>().origin;
    if (std::ranges::find(origins, origin_) == origins.end())
        viewer_->abort("its origin is no longer in the configuration", CloseReason::kDone);
}

void Push::run() {
    runtime::set_context_id(id_);
    while (!ending_ && !runtime::cancelled()) {
        const int64_t began_ms = runtime::now_ms();
        auto round = run_round();
        if (ending_ || runtime::cancelled()) break;
        if (!round) {
            runtime::error_limited("edge push: {}: {}; its publisher is ended", stream_->key().text(),
                                   round.error().text());
            // The end of the publication ends this push, too.
            stream_->revoke(round.error().text(), CloseReason::kOutputFailed);
            break;
        }
        state_ = State::kWaiting;
        const int64_t left_ms = began_ms + kRoundMs - runtime::now_ms();
        if (left_ms > 0 && !runtime::sleep_ms(left_ms)) break;
    }
    owner_.push_ended(*this);  // destroys this
}

Result<void> Push::run_round() {
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = find_edge(*snapshot, stream_->key().vhost);
    if (!vhost) return fail(Code::kNotFound, "the vhost is no edge any more");
    const auto& cluster = vhost->get<VhostConfig>();
    std::string why = "no origin takes streams by RTMP";
    for (const std::string& origin : owner_.health().order(stream_->key().vhost, cluster.origin, runtime::now_ms())) {
        const auto parsed = parse_origin(origin);
        if (!parsed || !parsed->takes_rtmp()) continue;
        const bool had_origin = was_taken_;
        const int64_t began_ms = runtime::now_ms();
        auto ended = attempt(origin, cluster);
        published_.reset();
        viewer_.reset();
        session_.reset();
        if (ending_ || runtime::cancelled()) return {};
        const bool was_steady = was_taken_ && runtime::now_ms() - began_ms >= kSteadyMs;
        why = fmt::format("{}: {}", origin, ended.error().text());
        const bool refused = ended.error().code() == Code::kRefused;
        if (!refused && ended.error().code() != Code::kConfig)
            owner_.health().record_failure(origin, ended.error().text(), runtime::now_ms());
        if (error_.update(why)) runtime::warn_limited("edge push: {} to {}", stream_->key().text(), why);
        // A refusal is a decision about the publisher.
        if (refused && !had_origin) return fail(Code::kRefused, why);
        if (was_steady) return {};
    }
    if (was_taken_ && runtime::now_ms() - without_since_ms_ < kWithoutMs) return {};
    return fail(Code::kOther, "no origin takes the stream; " + why);
}

// Always returns an error: the reason why the connection ended.
Result<void> Push::attempt(const std::string& origin, const VhostConfig& cluster) {
    state_ = State::kConnecting;
    origin_ = origin;
    ++attempts_;
    const live::StreamKey& key = stream_->key();
    const std::string vhost = config::PathVariables().set("vhost", key.vhost).expand(cluster.vhost);
    const Origin where = TRY(parse_origin(origin));
    relay::Target target = TRY(target_of(where, Scheme::kRtmp, key, vhost, params_));
    ++owner_.health().state(origin).connections;
    for (int redirects = 0;; ++redirects) {
        std::unique_ptr<runtime::ByteStream> socket;
        auto connected = connect(target, socket);
        if (connected) return publish(target, std::move(socket));
        const std::string location = session_ ? session_->location() : std::string();
        if (location.empty()) return connected;
        if (redirects == relay::kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", redirects));
        target = TRY(relay::redirected(target, location));
    }
}

Result<void> Push::connect(const relay::Target& target, std::unique_ptr<runtime::ByteStream>& socket) {
    const ::rtmp::Url url = TRY(::rtmp::parse_url(target.url));
    const auto limit = Deadline::in_ms(kConnectMs + kAcceptMs);
    session_.reset();
    socket = TRY(dial_rtmp(url, owner_.tls(), Deadline::in_ms(kConnectMs), limit));
    ::rtmp::ClientOptions options;
    options.publish = true;
    options.forward_path = path_;
    options.tc_url = target.tc_url;
    session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url, options,
                                                       kRtmpHandshakeBytes);
    return await_ready(*session_, *socket, "asking to publish", limit);
}

Result<void> Push::publish(const relay::Target& target, std::unique_ptr<runtime::ByteStream> socket) {
    state_ = State::kPublishing;
    was_taken_ = true;
    over_ = false;
    owner_.health().record_success(origin_);
    ++owner_.health().state(origin_).pushes;
    base::log::trace("edge push: {} goes to {}", stream_->key().text(), target.shown);
    error_.clear();
    std::string ip = socket->peer_ip();
    convert::RtmpParameters parameters{
        .stream_id = session_->stream_id(), .all_tracks = session_->peer_multitrack(), .publish = true};
    base::Slice first = base::Slice::copy(std::exchange(session_->output(), {}));
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    published_.emplace(
        owner_.sessions(),
        OutgoingSession::Facts{
            .id = id_, .ip = ip, .type = edge_push_type(), .stream = stream_->key(), .url = target.shown},
        OutgoingSession::Connection{.traffic = [this] { return traffic_of(*viewer_); },
                                    .kick = [this](std::string_view why) { kick(why); }});
    viewer_->join(parameters.key(), std::move(socket), std::move(first));
    Result<void> waited;
    while (!over_ && waited) {
        waited = wake_.wait_next(drained_by_);
        if (!waited && waited.error().code() == Code::kTimeout)
            waited = fail(Code::kTimeout, fmt::format("the origin did not take the rest within {} ms", kDrainMs));
    }
    std::string why = waited ? viewer_->end_text(over_why_) : waited.error().text();
    CloseReason reason = waited ? viewer_->close_reason() : CloseReason::kTooSlow;
    if (runtime::cancelled()) {
        why = "the server stops";
        reason = CloseReason::kServerStop;
    }
    without_since_ms_ = runtime::now_ms();
    --owner_.health().state(origin_).pushes;
    published_->end(why, reason);
    return fail(Code::kClosed, std::move(why));
}

void Push::send_output() {
    if (!session_->output().empty()) viewer_->send_control(base::Slice::copy(std::exchange(session_->output(), {})));
}

void Push::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id_);
    if (auto fed = session_->feed(bytes); !fed) return viewer.abort(fed.error().text(), fed.error().close_reason());
    send_output();
}

void Push::on_stream_end(live::Viewer&) {
    session_->close();
    send_output();
}

void Push::on_viewer_end(live::Viewer&, std::string_view why) {
    over_ = true;
    over_why_ = why;
    wake_.pulse();
}

void Push::on_status(std::string_view code, std::string_view description) {
    base::log::info("edge push: {} says {} ({})", origin_, code, description);
}

}  // namespace service::edge
