#include "service/relay/source_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "live/hub/options.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "service/relay/target.h"

namespace service::relay {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kCheckMs = 500;  // of a pause: whether the stream is still wanted

}  // namespace

// ---- Fetch

Fetch::Fetch(SourceRunner& runner, config::SnapshotPtr snapshot, const config::Vhost& vhost,
             base::Ref<live::Stream> stream)
    : runner_(runner),
      snapshot_(std::move(snapshot)),
      vhost_(vhost),
      stream_(std::move(stream)),
      id_(runtime::new_context_id()) {}

const std::string& Fetch::log_name() const { return runner_.options_.log_name; }

const live::Registry& Fetch::registry() const { return runner_.owner_.registry(); }

void Fetch::opened() {
    if (!is_streaming()) runner_.state_ = SourceRunner::State::kWaitingForMedia;
}

void Fetch::streaming(const std::string& ip, const std::string& url, std::string_view detail) {
    session_.emplace(
        runner_.owner_.sessions(),
        OutgoingSession::Facts{.id = id_,
                               .ip = ip,
                               .type = runner_.options_.session_type,
                               .stream = stream_->key(),
                               .url = url,
                               .is_with_other_process = stream_->publisher() && stream_->publisher()->is_copy()},
        OutgoingSession::Connection{.traffic = [this] { return traffic; },
                                    .kick = [this](std::string_view why) { close(why, CloseReason::kKicked); },
                                    .srt_quality = srt_quality,
                                    .figures =
                                        [this] {
                                            net::SessionFigures figures;
                                            figures.frames = stream_->publication_frames();
                                            return figures;
                                        }});
    runner_.begin_streaming(ip, url, detail);
}

void Fetch::close(std::string_view why, CloseReason reason) {
    if (is_ending()) return;
    end_text_ = why;
    end_reason_ = reason;
}

void Fetch::give_up(std::string_view why, CloseReason reason) {
    is_given_up_ = true;
    close(why, reason);
}

void Fetch::check() {
    if (runner_.is_unwanted()) give_up("no player for a while", CloseReason::kNoViewers);
}

Result<void> Fetch::finish(Result<void> ended) {
    if (session_) {
        if (!ended && ended.error().code() == Code::kCancelled) close("the server stops", CloseReason::kServerStop);
        if (!ended) close(ended.error().text(), ended.error().close_reason());
        session_->end(end_text_, end_reason_);
        session_.reset();
    }
    if (is_given_up_) return {};
    return ended;
}

// ---- SourceRunner

std::string_view SourceRunner::state_name(State state) {
    constexpr std::array<std::string_view, kStates> kNames = {"connecting", "waiting", "streaming", "pausing", "idle"};
    return kNames[static_cast<size_t>(state)];
}

SourceRunner::SourceRunner(SourceOwner& owner, Options options)
    : owner_(owner),
      options_(std::move(options)),
      started_ms_(runtime::now_ms()),
      wanted_ms_(options_.is_configured ? 0 : started_ms_) {}

bool SourceRunner::start() {
    coroutine_ = runtime::spawn(std::string(net::session_type_name(options_.session_type)), [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void SourceRunner::stop(std::string_view why, CloseReason reason) {
    if (std::exchange(ending_, true)) return;
    if (fetch_) fetch_->close(why, reason);
    coroutine_.cancel();
}

void SourceRunner::want() {
    const bool was_awaited = is_awaited();
    wanted_ms_ = runtime::now_ms();
    again_ = true;
    if (!was_awaited) wake_.pulse();
}

void SourceRunner::begin_again() {
    reconfigured_ = true;
    wake_.pulse();
}

void SourceRunner::close_connection(std::string_view why, CloseReason reason) {
    if (fetch_) fetch_->close(why, reason);
}

bool SourceRunner::has_players() const {
    const auto stream = owner_.registry().find(key());
    return stream && stream->demand() > 0;
}

bool SourceRunner::is_unwanted() {
    if (!options_.on_demand || is_kept()) return false;
    if (has_players()) wanted_ms_ = runtime::now_ms();
    return wanted_ms_ == 0 || runtime::now_ms() - wanted_ms_ >= kUnwatchedMs;
}

bool SourceRunner::is_awaited() const {
    return (wanted_ms_ > 0 && runtime::now_ms() - wanted_ms_ < kUnwatchedMs) || has_players();
}

void SourceRunner::run() {
    runtime::set_context_id(runtime::new_context_id());
    if (const int64_t wait_ms = options_.not_before_ms - runtime::now_ms(); wait_ms > 0)
        (void)runtime::sleep_ms(wait_ms);
    while (!ending_ && !runtime::cancelled()) {
        if (is_unwanted() && !await_demand()) break;
        reconfigured_ = false;
        again_ = false;
        const Outcome outcome = run_round();
        if (ending_ || runtime::cancelled()) break;
        if (outcome == Outcome::kFailed) pause();
        if (outcome == Outcome::kOver && !again_) {
            if (!options_.is_configured) break;
            wanted_ms_ = 0;
        }
    }
    owner_.source_ended(*this);  // destroys this
}

// False: it ends without a player.
bool SourceRunner::await_demand() {
    if (!options_.is_configured) return false;
    do {
        state_ = State::kIdle;
        if (!wake_.wait_next(Deadline::never())) return false;
    } while (is_unwanted());
    return true;
}

SourceRunner::Outcome SourceRunner::run_round() {
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = owner_.fetching(*snapshot, key().vhost);
    if (!vhost) return options_.is_configured ? Outcome::kFailed : Outcome::kOver;
    const std::vector<std::string> servers = servers_now(*vhost);
    if (ending_ || runtime::cancelled()) return Outcome::kFailed;
    if (const auto stream = owner_.registry().find(key()); servers.empty() && stream && stream->published())
        return Outcome::kOver;  // by a publisher of this server
    least_pause_ms_ = refused_until_ms_ = 0;
    bool all_refuse = true;
    for (const std::string& server : servers) {
        auto ended = attempt(server);
        if (ending_ || runtime::cancelled()) return Outcome::kFailed;
        if (ended) return Outcome::kOver;
        const bool was_steady = streaming_ms_ > 0 && runtime::now_ms() - streaming_ms_ >= kSteadyMs;
        record_failure(ended.error());
        if ((was_steady && is_awaited()) || reconfigured_) return Outcome::kAgain;
        if (is_unwanted()) return Outcome::kOver;
        all_refuse &= server_refuses_;
    }
    if (all_refuse) record_refusal();
    return Outcome::kFailed;
}

void SourceRunner::record_refusal() {
    state_ = State::kPausing;
    refused_until_ms_ = runtime::now_ms() + std::max(kRefusedMs, least_pause_ms_);
    if (const auto stream = owner_.registry().find(key())) stream->wake_waiting();
}

bool SourceRunner::is_refused() const { return state_ == State::kPausing && runtime::now_ms() < refused_until_ms_; }

// No error: the stream is not wanted any more, or a publisher of this server has its name.
Result<void> SourceRunner::attempt(const std::string& server) {
    server_ = server;
    ++attempts_;
    state_ = State::kConnecting;
    streaming_ms_ = 0;
    server_refuses_ = false;
    const config::SnapshotPtr snapshot = owner_.snapshot();  // keeps vhost alive
    const config::Vhost* vhost = owner_.fetching(*snapshot, key().vhost);
    if (!vhost) return fail(Code::kNotFound, "streams of the vhost are not fetched any more");
    auto stream = owner_.registry().find_or_create(key(), live::live_options(*vhost));
    if (!options_.is_configured && stream->published()) return {};
    // What could not be published is not asked for.
    TRY(stream->check_free(false, live::standby_options(*vhost)));
    auto made = make_source(server, *vhost);
    server_refuses_ = !made;
    std::unique_ptr<Source> source = TRY(std::move(made));
    for (int redirects = 0;; ++redirects) {
        state_ = State::kConnecting;
        streaming_ms_ = 0;
        Fetch fetch(*this, snapshot, *vhost, stream);
        fetch_ = &fetch;
        auto ended = [&] {
            runtime::ContextScope scope(fetch.id());
            return fetch.finish(source->run(fetch, Deadline::in_ms(options_.connect_ms)));
        }();
        fetch_ = nullptr;
        server_refuses_ = fetch.is_refused_ || state_ == State::kWaitingForMedia;
        if (streaming_ms_ > 0) on_streaming_ended();
        auto next = source->redirected();
        if (ended || (next && !*next)) return ended;
        if (!next) return std::unexpected(std::move(next).error());
        if (redirects == kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", kMaxRedirects));
        source = *std::move(next);
        base::log::trace("{}: {} is redirected by {} to {}", options_.log_name, key().text(), server, source->shown());
    }
}

void SourceRunner::begin_streaming(const std::string& ip, const std::string& url, std::string_view detail) {
    state_ = State::kStreaming;
    streaming_ms_ = runtime::now_ms();
    had_media_ = true;
    backoff_.reset();
    errors_.clear();
    on_streaming();
    base::log::trace("{}: {} is pulled from {} ({}){}{}", options_.log_name, key().text(), url, ip,
                     detail.empty() ? "" : ", ", detail);
}

void SourceRunner::record_failure(const base::Error& error) {
    least_pause_ms_ = std::max(least_pause_ms_, on_failure(error));
    const std::string text = fmt::format("{}: {}", server_, error.text());
    if (errors_.update(server_, text))
        runtime::warn_limited("{}: {} from {}; it is tried again", options_.log_name, key().text(), text);
}

// Waits until the next round.
void SourceRunner::pause() {
    state_ = State::kPausing;
    struct Count {
        explicit Count(size_t& all) : count(++all) {}
        ~Count() { --count; }
        size_t& count;
    } const counted(owner_.pausing_);
    const int64_t began_ms = runtime::now_ms(), backoff_ms = backoff_.next_ms();
    const uint64_t random = runtime::random_u64();
    while (!reconfigured_ && !ending_ && (!is_unwanted() || runtime::now_ms() < began_ms + least_pause_ms_)) {
        const int64_t awaited_ms =
            std::clamp<int64_t>(static_cast<int64_t>(owner_.pausing_) * kPauseOfEachMs, kAwaitedPauseMs, kFirstPauseMs);
        const int64_t pause_ms = std::max(is_awaited() ? awaited_ms : backoff_ms, least_pause_ms_);
        const int64_t left_ms = began_ms + runtime::varied_ms(pause_ms, random) - runtime::now_ms();
        if (left_ms <= 0) break;
        auto waited = wake_.wait_next(Deadline::in_ms(std::min(left_ms, kCheckMs)));
        if (!waited && waited.error().code() == Code::kCancelled) break;
    }
}

uint64_t SourceRunner::received() const { return fetch_ ? fetch_->traffic.received_bytes : 0; }

RelayedStream relayed_of(const SourceRunner& runner, std::string_view kind) {
    using State = RelayedStream::State;
    State state = runner.state() == SourceRunner::State::kStreaming ? State::kWorks : State::kStarts;
    if (runner.state() == SourceRunner::State::kIdle) state = State::kIdle;
    if (!runner.problem().empty() && state == State::kStarts) state = State::kFails;
    return {.kind = kind,
            .stream = runner.key(),
            .server = runner.server(),
            .state = state,
            .problem = runner.problem(),
            .attempts = runner.attempts(),
            .bytes = runner.received()};
}

}  // namespace service::relay
