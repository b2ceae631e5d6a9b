#include "service/forward/push.h"

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kConnectMs = 10'000;           // from the first packet to the accepted publish
constexpr int64_t kSteadyMs = 5'000;             // a connection that lasts this long counts as working
constexpr int64_t kDrainMs = 5'000;              // for what was published before the end, and the peer's last words
constexpr int64_t kCredentialsPauseMs = 30'000;  // after they were refused

}  // namespace

Push::Push(PushOwner& owner, net::SessionTable& sessions, base::Ref<live::Stream> stream, Target target,
           std::string path)
    : owner_(owner),
      sessions_(sessions),
      stream_(std::move(stream)),
      target_(std::move(target)),
      path_(std::move(path)),
      id_(runtime::new_context_id()) {}

Push::~Push() = default;

void Push::start() {
    coroutine_ = runtime::spawn("forward", [this] { run(); });
}

void Push::finish() {
    if (ending_) return;
    ending_ = true;
    state_ = State::kEnding;
    if (!viewer_ || over_) return coroutine_.cancel();
    drained_by_ = Deadline::in_ms(kDrainMs);
    viewer_->end_with_stream(true);
    wake_.pulse();
}

void Push::kick(std::string_view why) {
    if (viewer_) viewer_->abort(why, base::CloseReason::kKicked);
}

void Push::run() {
    runtime::set_context_id(id_);
    while (!ending_ && !runtime::cancelled()) {
        ++attempts_;
        auto ended = attempt();
        session_.reset();
        viewer_.reset();
        link_.reset();
        if (ending_ || runtime::cancelled()) break;
        note_failure(ended.error());
        if (!pause()) break;
    }
    owner_.push_ended(*this);  // destroys this
}

// Always returns an error: the reason why the connection ended.
Result<void> Push::attempt() {
    state_ = State::kConnecting;
    ready_ms_ = 0;
    refusal_ = PushLink::Refusal::kNone;
    link_ = TRY(owner_.make_link(*this));
    auto ready = link_->begin(Deadline::in_ms(kConnectMs));
    if (!ready) {
        refusal_ = link_->refusal();
        return std::unexpected(std::move(ready.error()));
    }
    return publish(*std::move(ready));
}

Result<void> Push::publish(PushLink::Ready ready) {
    detail_ = ready.detail.empty() ? "" : ", " + ready.detail;
    note_ready();
    over_ = false;
    std::string ip = ready.socket->peer_ip();
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    session_.emplace(sessions_,
                     OutgoingSession::Facts{.id = id_, .ip = ip, .type = link_->session_type(), .stream = key()},
                     OutgoingSession::Connection{.traffic = [this] { return traffic_of(*viewer_); },
                                                 .kick = [this](std::string_view why) { kick(why); }});
    viewer_->join(ready.key, std::move(ready.socket), std::move(ready.first_bytes));
    ready.held.reset();
    auto ended = until_over();
    std::string why = ended ? viewer_->end_text(over_why_) : ended.error().text();
    base::CloseReason reason = ended ? viewer_->close_reason() : base::CloseReason::kTooSlow;
    if (runtime::cancelled()) {
        why = "the server stops";
        reason = base::CloseReason::kServerStop;
    }
    if (!unsteady_) session_->end(why, reason);
    return fail(Code::kClosed, std::move(why));
}

Result<void> Push::until_over() {
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
        if (unsteady_ && runtime::now_ms() - ready_ms_ >= kSteadyMs) note_steady();
    }
    return {};
}

void Push::tick() {
    if (auto ticked = link_->on_tick(); !ticked)
        return viewer_->abort(ticked.error().text(), ticked.error().close_reason());
    send_output();
}

void Push::note_ready() {
    state_ = State::kPublishing;
    ready_ms_ = runtime::now_ms();
    if (unsteady_) return;  // it may fail again: see note_steady()
    if (error_.clear())
        base::log::trace("forward: {} goes to {} again, after {} attempts{}", key().text(), target_.shown, pauses_,
                         detail_);
    else
        base::log::trace("forward: {} goes to {}{}", key().text(), target_.shown, detail_);
}

void Push::note_steady() {
    unsteady_ = false;
    pauses_ = 0;
    backoff_.reset();
    note_ready();
}

void Push::note_failure(const base::Error& error) {
    bool was_ready = ready_ms_ != 0;
    bool lasted = was_ready && runtime::now_ms() - ready_ms_ >= kSteadyMs;
    unsteady_ = was_ready && !lasted;
    if (lasted) {
        pauses_ = 0;
        backoff_.reset();
    }
    state_ = refusal_ == PushLink::Refusal::kLoop ? State::kLoop : State::kWaiting;
    if (!error_.update(error.text())) return;
    if (state_ == State::kLoop)
        return runtime::error_limited("forward: {} to {} is a loop, and is not tried again: {}", key().text(),
                                      target_.shown, error_.text());
    runtime::warn_limited("forward: {} to {}: {}; it is tried again", key().text(), target_.shown, error_.text());
}

// Pushes that fail together do not retry at the same moment.
Result<void> Push::pause() {
    if (state_ == State::kLoop) return runtime::sleep_until(Deadline::never());
    const int64_t ms = backoff_.next_ms();
    ++pauses_;
    return runtime::sleep_ms(
        runtime::varied_ms(refusal_ == PushLink::Refusal::kCredentials ? kCredentialsPauseMs : ms));
}

void Push::send_output() { viewer_->send_control(link_->take_output()); }

void Push::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id_);
    if (auto fed = link_->on_input(bytes); !fed) return viewer.abort(fed.error().text(), fed.error().close_reason());
    send_output();
    if (!link_->ended()) return;
    if (ending_) return viewer.abort("the stream ended", base::CloseReason::kStreamEnded);
    viewer.abort("the destination ended the session", base::CloseReason::kPeerClosed);
}

void Push::on_stream_end(live::Viewer&) {
    link_->on_stream_end();
    send_output();
}

void Push::on_viewer_end(live::Viewer&, std::string_view why) {
    over_ = true;
    over_why_ = why;
    wake_.pulse();
}

}  // namespace service::forward
