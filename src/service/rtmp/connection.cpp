#include "service/rtmp/connection.h"

#include <algorithm>

#include "base/log.h"
#include "protocol/rtmp/handshake.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/random.h"
#include "service/rtmp/service.h"
#include "service/session_figures.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kWriteTimeoutMs = 10'000;
constexpr int64_t kFinishPollMs = 20;
constexpr int64_t kLingerMs = 1'000;  // the time a refused peer has to read the reason
constexpr size_t kStackBytes = 64 * 1024;

}  // namespace

Connection::Connection(Service& service, std::unique_ptr<runtime::ByteStream> socket,
                       std::shared_ptr<runtime::TlsContext> tls, Peer peer)
    : net::Session(service.sessions(), runtime::new_context_id(), socket->peer_ip()),
      peer_(peer),
      service_(service),
      work_(std::make_unique<Work>()),
      session_(*this, 1 + 2 * ::rtmp::kHandshakeSize) {
    work_->socket = std::move(socket);
    work_->tls = std::move(tls);
    if (peer_ == Peer::kOtherProcess) connects_processes();
    set_type(net::SessionType::kRtmp);
}

Connection::~Connection() = default;

bool Connection::start() {
    if (peer_ == Peer::kClient) {
        work_->embryonic = std::make_unique<Embryonic>(*this);
        service_.sessions().admission().embryonic().add(*work_->embryonic, base::monotonic_ms());
    }
    work_->task = runtime::spawn("rtmp", [this] { run(&Connection::from_accept); }, {.stack_bytes = kStackBytes});
    return static_cast<bool>(work_->task);
}

void Connection::enter(Phase next) {
    CHECK(may_enter(phase_, next));
    CHECK(next == Phase::kEnded || has_coroutine(next) == (work_ != nullptr));
    phase_ = next;
}

// The top function of each of its coroutines, which ends when the connection is parked or has ended.
void Connection::run(Result<void> (Connection::*body)()) {
    runtime::set_context_id(id());
    if (auto done = (this->*body)(); !done) end(done.error());
    if (phase_ == Phase::kEnded) service_.remove(*this);
}

Result<void> Connection::from_accept() {
    work_->deadline = Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
    if (work_->tls)
        work_->socket =
            TRY(runtime::tls_accept(std::move(work_->socket), work_->tls, work_->deadline), "TLS handshake");
    TRY(handshake());
    enter(Phase::kServing);
    return serve();
}

std::string Connection::why_ended(const base::Error& error) const {
    if (!work_->end_reason.empty()) return work_->end_reason;
    return error.code() == Code::kCancelled ? "the server stops" : error.text();
}

std::string Connection::handshake_timeout_text() const {
    return fmt::format("did not publish or play within {} ms (handshake_timeout)",
                       service_.snapshot()->rtmp.handshake_timeout);
}

Result<void> Connection::handshake() {
    ::rtmp::ServerHandshake handshake(runtime::fill_secret);
    std::vector<uint8_t> out;
    while (!handshake.done()) {
        work_->socket->acknowledge_soon();
        auto bytes = runtime::read_shared(*work_->socket, work_->deadline);
        if (!bytes && bytes.error().code() == Code::kTimeout)
            return base::fail(Code::kTimeout, fmt::format("{}, {}", handshake_timeout_text(), handshake.progress()));
        if (!bytes) return std::unexpected(std::move(bytes.error()).with("handshake, " + handshake.progress()));
        if (bytes->empty())
            return base::fail(Code::kClosed, fmt::format("closed by the peer, {}", handshake.progress()));
        received_bytes_ += bytes->size();
        size_t taken = TRY(handshake.feed(*bytes, static_cast<uint32_t>(base::monotonic_ms()), out), "handshake");
        auto rest = bytes->subspan(taken);
        work_->input.assign(rest.begin(), rest.end());
        if (out.empty()) continue;
        TRY(work_->socket->write(out, work_->deadline), "handshake");
        sent_bytes_ += out.size();
        out.clear();
    }
    return {};
}

// Processes commands and publishing until it plays or ends.
Result<void> Connection::serve() {
    while (true) {
        if (request_) decide();
        const bool has_input = !work_->input.empty() || session_.has_backlog();
        // What the peer sent behind its play comes first: in slices of time, as all input.
        if (player_ && !has_input) {
            park();
            return {};
        }
        // A player's statuses go out with the beginning of its stream.
        if (!player_ || !session_.takes_input()) TRY(write_output(), "writing");
        if (!work_->end_reason.empty()) {
            if (!work_->refused) await_acknowledgement();  // a refused peer has time to read the reason anyway
            end(work_->end_reason);
            return {};
        }
        if (!has_input) {
            TRY(read_once());
            continue;
        }
        if (std::exchange(work_->slice_over, false) || runtime::iteration_is_long(runtime::kMaxIterationUs))
            TRY(runtime::yield());
        std::vector<uint8_t> input = std::move(work_->input);
        work_->input.clear();
        TRY(take_input(input));
    }
}

Deadline Connection::deadline() const { return publisher_ ? publisher_->deadline() : work_->deadline; }

// The hot path of a publisher: one read, parsed in place.
Result<void> Connection::read_once() {
    if (!publisher_) {
        work_->socket->pace_reads(0);
        work_->socket->acknowledge_soon();
    }
    auto read = runtime::read_shared(*work_->socket, deadline());
    // A peer that keeps sending but never publishes also times out.
    if (publisher_ ? !read && read.error().code() == Code::kTimeout : work_->deadline.passed())
        return base::fail(Code::kTimeout, publisher_ ? publisher_->timeout_text() : handshake_timeout_text());
    auto bytes = TRY(std::move(read));
    if (bytes.empty()) return base::fail(Code::kClosed, "closed by the peer");
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes.size());
    TRY(take_input(bytes));
    if ((before ^ received_bytes_) / net::InputMemory::kFree) TRY(count_memory());
    if (!publisher_) return {};
    const int64_t now = runtime::event_us();
    publisher_->after_read(now, bytes.size());
    const int64_t interval_ms = publisher_->read_interval_ms();
    if (const auto passed = publisher_->passed_limit(now)) will_end(passed->text, passed->reason);
    work_->socket->pace_reads(interval_ms);
    // A sender without TCP_NODELAY delays its next message until the last one is acknowledged.
    if (interval_ms == 0) work_->socket->acknowledge_soon();
    return {};
}

size_t Connection::unfinished_input() const {
    return session_.reader().in_progress() + (work_ ? work_->input.capacity() : 0);
}

// Called for each 64 kB that came.
Result<void> Connection::count_memory() {
    constexpr size_t kMuch = 1u << 20;
    TRY(count_input());
    if (publisher_ && unfinished_input() >= kMuch) publisher_->check_memory();
    return {};
}

// Passes bytes to the session. Bytes that it does not accept yet, or for which there was no time, stay in work_->input.
Result<void> Connection::take_input(std::span<const uint8_t> bytes) {
    int64_t began_us = 0;
    while (true) {
        bytes = bytes.subspan(TRY(session_.feed(bytes)));
        if (!session_.takes_input() || (bytes.empty() && !session_.has_backlog())) break;
        const int64_t now_us = runtime::now_us();
        if (began_us == 0) began_us = now_us;
        work_->slice_over = runtime::slice_is_over(now_us - began_us);
        if (work_->slice_over) break;
    }
    work_->input.assign(bytes.begin(), bytes.end());
    return {};
}

Result<void> Connection::write_output() {
    if (!session_.has_output()) return {};
    const std::vector<uint8_t> out = session_.take_output();
    sent_bytes_ += out.size();
    Deadline limit = Deadline::in_ms(kWriteTimeoutMs);
    return work_->socket->write(out, publisher_ ? limit : earlier(limit, work_->deadline));
}

void Connection::end(std::string_view why) {
    std::string reason(why);
    // When a network or an encoder with many streams fails, all of them end at once, and their recordings with them.
    if (publisher_) runtime::await_short_iteration();
    if (publisher_ || player_) keep_figures();
    publisher_.reset();
    player_.reset();
    if (serving() && work_->refused) linger();
    finish(reason, CloseReason::kUnknown);
}

void Connection::finish(std::string_view why, CloseReason reason) {
    grant_.end(traffic());
    log_end(why, reason);
    enter(Phase::kEnded);
}

void Connection::end(const base::Error& error) {
    set_close_reason(error.close_reason());
    end(why_ended(error));
}

// Only the first reason counts.
void Connection::will_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (work_->end_reason.empty()) work_->end_reason = why;
}

// Waits until the peer has acknowledged all data, or a timeout.
void Connection::await_acknowledgement() {
    Deadline limit = Deadline::in_ms(kWriteTimeoutMs);
    while (!limit.passed()) {
        auto left = work_->socket->try_finish();
        if (!left || *left == 0 || !runtime::sleep_ms(kFinishPollMs)) return;
    }
}

// The last data is being sent: closing at once might discard it.
void Connection::linger() {
    if (!work_->socket->finish(Deadline::in_ms(kWriteTimeoutMs))) return;
    Deadline limit = Deadline::in_ms(kLingerMs);
    while (true) {
        auto bytes = runtime::read_shared(*work_->socket, limit);
        if (!bytes || bytes->empty()) return;
    }
}

void Connection::kick(std::string_view reason) {
    runtime::ContextScope scope(id());
    set_close_reason(CloseReason::kKicked);
    if (phase_ == Phase::kParked) return player_->viewer().abort(reason, close_reason());
    will_end(reason, CloseReason::kKicked);
    work_->task.cancel();
}

std::string Connection::stream_text() const { return stream_ ? stream_->key().text() : "-"; }

net::ClientDetails Connection::details() const {
    return {client_.tc_url(), client_.page_url(), client_.swf_url(), std::string(client_.params())};
}

net::SessionFigures Connection::figures() const {
    if (publisher_) return publisher_->figures();
    return player_ ? figures_of(player_->viewer()) : net::SessionFigures();
}

net::Traffic Connection::traffic() const {
    net::Traffic sum{received_bytes_, sent_bytes_};
    if (!player_) return sum;
    const live::ViewerCounters counted = player_->viewer().counters();
    return {sum.received_bytes + counted.received_bytes, sum.sent_bytes + counted.sent_bytes};
}

}  // namespace service::rtmp
