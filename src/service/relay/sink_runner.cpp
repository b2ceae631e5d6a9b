#include "service/relay/sink_runner.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "service/session_figures.h"

namespace service::relay {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kDrainMs = 5'000;              // for what was published before the end, and the peer's last words
constexpr int64_t kCredentialsPauseMs = 30'000;  // after they were refused

}  // namespace

SinkRunner::SinkRunner(SinkOwner& owner, Options options, base::Ref<live::Stream> stream, std::string path)
    : owner_(owner),
      options_(std::move(options)),
      stream_(std::move(stream)),
      path_(std::move(path)),
      id_(runtime::new_context_id()),
      backoff_(kFirstPauseMs, options_.longest_pause_ms) {}

SinkRunner::~SinkRunner() = default;

bool SinkRunner::start() {
    coroutine_ = runtime::spawn(options_.log_name, [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void SinkRunner::finish() {
    if (ending_) return;
    ending_ = true;
    if (!is_sending() || over_) return coroutine_.cancel();
    drained_by_ = Deadline::in_ms(kDrainMs);
    if (viewer_) viewer_->end_with_stream(true);
    if (sender_) sender_->finish();
    wake_.pulse();
}

void SinkRunner::stop() {
    ending_ = true;
    coroutine_.cancel();
}

void SinkRunner::close_connection(std::string_view why, CloseReason reason) {
    if (is_sending()) abort(why, reason);
}

void SinkRunner::abort(std::string_view why, CloseReason reason) {
    if (viewer_) viewer_->abort(why, reason);
    if (sender_) sender_->abort(why, reason);
}

net::Traffic SinkRunner::traffic() const {
    if (sender_) return sender_->traffic();
    return viewer_ ? traffic_of(*viewer_) : net::Traffic();
}

void SinkRunner::run() {
    runtime::set_context_id(id_);
    while (!ending_ && !runtime::cancelled()) {
        auto round = run_round();
        if (ending_ || runtime::cancelled()) break;
        if (!round) {
            runtime::error_limited("{}: {}: {}; its publisher is ended", options_.log_name, key().text(),
                                   round.error().text());
            // The end of the publication ends this runner, too.
            stream_->revoke(round.error().text(), CloseReason::kOutputFailed);
            break;
        }
        if (!pause()) break;
    }
    owner_.sink_ended(*this);  // destroys this
}

Result<void> SinkRunner::run_round() {
    for (const std::string& server : servers_now()) {
        ++attempts_;
        if (std::exchange(server_, server) != server) unsteady_ = false;
        const auto ended = attempt(server);
        session_.reset();
        viewer_.reset();
        sender_ = nullptr;
        link_.reset();
        if (ending_ || runtime::cancelled()) return {};
        record_failure(ended.error());
        TRY(on_failure(ended.error()));
        if (ready_ms_ != 0 && !unsteady_) return {};
    }
    return on_round_failed();
}

// Always returns an error: the reason why the connection ended.
Result<void> SinkRunner::attempt(const std::string& server) {
    state_ = State::kConnecting;
    ready_ms_ = 0;
    refusal_ = PushLink::Refusal::kNone;
    link_ = TRY(make_link(server));
    auto ready = link_->begin(Deadline::in_ms(options_.connect_ms));
    if (!ready) {
        refusal_ = link_->refusal();
        return std::unexpected(std::move(ready.error()));
    }
    on_publishing();
    auto ended = publish(*std::move(ready));
    on_publishing_ended();
    return ended;
}

Result<void> SinkRunner::publish(PushLink::Ready ready) {
    detail_ = ready.detail.empty() ? "" : ", " + ready.detail;
    record_ready();
    over_ = false;
    begin_sending(std::move(ready));
    auto ended = until_over();
    std::string why = ended.has_value() ? over_why_ : ended.error().text();
    CloseReason reason = ended ? over_reason_ : CloseReason::kTooSlow;
    if (runtime::cancelled()) {
        why = "the server stops";
        reason = CloseReason::kServerStop;
    }
    if (!unsteady_) session_->end(why, reason);
    return fail(Code::kClosed, std::move(why));
}

void SinkRunner::begin_sending(PushLink::Ready ready) {
    sender_ = ready.sender;
    if (!sender_) {
        viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
        viewer_->set_forward();
    }
    session_.emplace(owner_.sessions(),
                     OutgoingSession::Facts{.id = id_,
                                            .ip = sender_ ? sender_->peer_ip() : ready.socket->peer_ip(),
                                            .type = link_->session_type(),
                                            .stream = key(),
                                            .url = link_->shown_url()},
                     OutgoingSession::Connection{
                         .traffic = [this] { return traffic(); },
                         .kick = [this](std::string_view why) { abort(why, CloseReason::kKicked); },
                         .srt_quality = [this] { return sender_ ? sender_->srt_quality() : std::nullopt; },
                         .figures = [this] { return viewer_ ? figures_of(*viewer_) : net::SessionFigures(); }});
    if (sender_) return sender_->start(*this);
    viewer_->join(ready.key, std::move(ready.socket), std::move(ready.first_bytes));
}

Result<void> SinkRunner::until_over() {
    const int64_t tick_ms = link_->tick_ms();
    Deadline next_tick = tick_ms > 0 ? Deadline::in_ms(tick_ms) : Deadline::never();
    while (!over_) {
        Deadline limit = earlier(drained_by_, next_tick);
        if (unsteady_) limit = earlier(limit, Deadline::at_us((ready_ms_ + kSteadyMs) * 1000));
        auto waited = wake_.wait_next(limit);
        if (waited) continue;
        if (waited.error().code() != Code::kTimeout) return waited;
        if (drained_by_.passed())
            return fail(Code::kTimeout, fmt::format("the destination did not take the rest within {} ms", kDrainMs));
        if (next_tick.passed()) {
            next_tick = Deadline::in_ms(tick_ms);
            tick();
        }
        if (unsteady_ && runtime::now_ms() - ready_ms_ >= kSteadyMs) record_steady();
    }
    return {};
}

void SinkRunner::tick() {
    if (auto ticked = link_->on_tick(); !ticked) return abort(ticked.error().text(), ticked.error().close_reason());
    if (viewer_) send_output();
}

void SinkRunner::record_ready() {
    state_ = State::kPublishing;
    ready_ms_ = runtime::now_ms();
    if (unsteady_) return;  // it may fail again: see record_steady()
    if (errors_.clear())
        base::log::trace("{}: {} goes to {} again, after {} attempts{}", options_.log_name, key().text(),
                         link_->shown_url(), pauses_, detail_);
    else
        base::log::trace("{}: {} goes to {}{}", options_.log_name, key().text(), link_->shown_url(), detail_);
}

void SinkRunner::record_steady() {
    unsteady_ = false;
    pauses_ = 0;
    backoff_.reset();
    record_ready();
}

void SinkRunner::record_failure(const base::Error& error) {
    const bool was_ready = ready_ms_ != 0;
    const bool lasted = was_ready && runtime::now_ms() - ready_ms_ >= kSteadyMs;
    unsteady_ = was_ready && !lasted;
    if (lasted) {
        pauses_ = 0;
        backoff_.reset();
    }
    const bool is_loop = options_.gives_up_loops && refusal_ == PushLink::Refusal::kLoop;
    state_ = is_loop ? State::kLoop : State::kWaiting;
    if (!errors_.update(server_, error.text())) return;
    if (is_loop)
        return runtime::error_limited("{}: {} to {} is a loop, and is not tried again: {}", options_.log_name,
                                      key().text(), server_, error.text());
    runtime::warn_limited("{}: {} to {}: {}; it is tried again", options_.log_name, key().text(), server_,
                          error.text());
}

Result<void> SinkRunner::pause() {
    if (state_ == State::kLoop) return runtime::sleep_until(Deadline::never());
    if (ready_ms_ != 0 && !unsteady_) return runtime::yield();
    const int64_t ms = backoff_.next_ms();
    ++pauses_;
    return runtime::sleep_ms(
        runtime::varied_ms(refusal_ == PushLink::Refusal::kCredentials ? kCredentialsPauseMs : ms));
}

void SinkRunner::send_output() { viewer_->send_control(link_->take_output()); }

void SinkRunner::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id_);
    if (auto fed = link_->on_input(bytes); !fed) return viewer.abort(fed.error().text(), fed.error().close_reason());
    send_output();
    if (!link_->ended()) return;
    if (ending_) return viewer.abort("the stream ended", CloseReason::kStreamEnded);
    viewer.abort("the destination ended the session", CloseReason::kPeerClosed);
}

void SinkRunner::on_stream_end(live::Viewer&) {
    link_->on_stream_end();
    send_output();
}

void SinkRunner::on_viewer_end(live::Viewer& viewer, std::string_view why) {
    on_sender_end(viewer.end_text(why), viewer.close_reason());
}

void SinkRunner::on_sender_end(std::string_view why, CloseReason reason) {
    over_ = true;
    over_why_ = why;
    over_reason_ = reason;
    wake_.pulse();
}

}  // namespace service::relay
