#include "service/rtsp/pull.h"

#include "base/log.h"
#include "live/hub/options.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "service/rtsp/pull_connection.h"

namespace service::rtsp {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int kMaxRedirects = 3;
// A pull on demand goes on for so long after its last player, and tries for so long after a player asked.
constexpr int64_t kUnwatchedMs = 10'000, kAskedMs = 60'000;

bool is_refusal(const base::Error& error) { return error.code() == Code::kRefused; }

}  // namespace

Pull::Pull(PullOwner& owner, PullTask task) : owner_(owner), task_(std::move(task)) {}

Pull::~Pull() = default;

bool Pull::start() {
    coroutine_ = runtime::spawn("rtsp-pull", [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void Pull::stop(std::string_view why) {
    if (ending_) return;
    ending_ = true;
    stop_reason_ = why;
    if (connection_) connection_->close(why, base::CloseReason::kServerStop);
    coroutine_.cancel();
}

void Pull::want() {
    wanted_ms_ = runtime::now_ms();
    wanted_.set();
}

bool Pull::is_unwanted() const {
    if (!task_.on_demand) return false;
    const int64_t now_ms = runtime::now_ms();
    const auto stream = owner_.registry().find(task_.stream);
    if (stream && (stream->viewer_count() > 0 || stream->has_file_viewers())) return false;
    const bool is_published = stream && stream->published();
    if (wanted_ms_ != 0 && now_ms - wanted_ms_ < (is_published ? kUnwatchedMs : kAskedMs)) return false;
    return !is_published || (stream->idle_since_ms() != 0 && now_ms - stream->idle_since_ms() >= kUnwatchedMs);
}

void Pull::run() {
    runtime::set_context_id(runtime::new_context_id());
    while (!ending_ && !runtime::cancelled()) {
        if (task_.on_demand && !await_demand()) break;
        ++attempts_;
        auto ended = attempt();
        if (ending_ || runtime::cancelled()) break;
        if (ended) {
            wanted_ms_ = 0;  // nobody wants it any more
            continue;
        }
        note_failure(ended.error());
        if (!pause(ended.error())) break;
    }
    owner_.pull_ended(*this);  // destroys this
}

Result<void> Pull::await_demand() {
    while (is_unwanted()) {
        state_ = State::kIdle;
        wanted_.reset();
        TRY(wanted_.wait(Deadline::never()));
    }
    return {};
}

// An error: why the connection ended. No error: the stream is not wanted any more.
Result<void> Pull::attempt() {
    state_ = State::kConnecting;
    streamed_ = false;
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = snapshot->vhost(task_.stream.vhost);
    if (!vhost) return fail(Code::kNotFound, "the vhost is gone");
    auto stream = owner_.registry().find_or_create(task_.stream, live::live_options(*vhost));
    // A camera is not asked for what could not be published.
    TRY(stream->check_free(false, live::standby_options(*vhost)));
    PullSource source = task_.source;
    for (int redirects = 0;; ++redirects) {
        PullConnection connection(*this, owner_, source, snapshot, *vhost, stream);
        connection_ = &connection;
        auto ended = connection.run();
        connection_ = nullptr;
        if (!ended) return ended;
        if (connection.location().empty()) return {};
        if (redirects == kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", kMaxRedirects));
        source = TRY(redirected(source, connection.location()), "redirect");
    }
}

void Pull::note_streaming(const std::string& ip, bool tcp) {
    state_ = State::kStreaming;
    streamed_ = true;
    backoff_.reset();
    base::log::trace("ingest {}: {} is pulled from {} ({}), {}", task_.name, task_.stream.text(), task_.source.url, ip,
                     tcp ? "interleaved" : "UDP");
    error_.clear();
}

void Pull::note_password_in_the_clear() {
    if (std::exchange(warned_, true)) return;
    runtime::warn_limited(
        "ingest {}: the password goes to {} in the clear, as the camera offers Basic alone; methods digest "
        "forbids it",
        task_.name, task_.source.url);
}

void Pull::note_failure(const base::Error& error) {
    state_ = State::kWaiting;
    if (!error_.update(error.text())) return;
    runtime::warn_limited("ingest {}: {} from {}: {}; it is tried again", task_.name, task_.stream.text(),
                          task_.source.url, error_.text());
}

Result<void> Pull::pause(const base::Error& error) {
    const int64_t ms = backoff_.next_ms();
    return runtime::sleep_ms(runtime::varied_ms(is_refusal(error) && !streamed_ ? kLongestPauseMs : ms));
}

}  // namespace service::rtsp
