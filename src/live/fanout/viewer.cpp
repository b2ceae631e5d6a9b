#include "live/fanout/viewer.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/shrink.h"
#include "live/fanout/delivery.h"
#include "live/fanout/live_log.h"
#include "live/hub/stream.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/senders/senders.h"

namespace live {

using base::CloseReason;

Viewer::Viewer(ViewerHandler& handler, base::Ref<Stream> stream) : handler_(handler), stream_(std::move(stream)) {}

Viewer::~Viewer() {
    settle_anyway();
    leave_log();
    drop_kept();
    if (state_ == State::kDead) stream_->delivery().forget(index_);
}

Viewer::Rare& Viewer::rare() {
    if (!rare_) rare_ = std::make_unique<Rare>();
    return *rare_;
}

void Viewer::stop_after(uint32_t duration_ms) {
    if (duration_ms > 0) rare().duration_ms = duration_ms;
}

ViewerCounters Viewer::counters() const {
    return {sent_bytes_, received_bytes_, rare_ ? rare_->skipped_bytes : 0, rare_ ? rare_->jumps : 0};
}

ViewerHistory Viewer::history() const {
    const StreamCounters& counted = stream_->counters();
    ViewerHistory history;
    history.frames = static_cast<uint32_t>(counted.audio_frames + counted.video_frames) - frames_at_join_;
    if (has_begun_) history.first_ms = begin_ms_;
    if (!rare_) return history;
    history.stalls = rare_->stalls;
    history.stalled_ms = rare_->stalled_ms;
    history.last_stall_ms = rare_->last_stall_ms;
    return history;
}

void Viewer::record_begin(int64_t now_ms) {
    has_begun_ = true;
    begin_ms_ = static_cast<uint32_t>(now_ms) - begin_ms_;
}

void Viewer::record_stall(int64_t now_ms) {
    const int64_t ms = cursor_.stalled_ms(now_ms);
    if (ms < kStallMs || state_ == State::kFinishing) return;
    ++rare().stalls;
    rare_->stalled_ms += ms;
    rare_->last_stall_ms = base::wall_ms();
}

void Viewer::join(const LogKey& key, std::unique_ptr<runtime::ByteStream> socket, base::Slice first_bytes) {
    CHECK(state_ == State::kIdle);
    socket_ = std::move(socket);
    const int64_t now_ms = runtime::now_ms();
    cursor_.record_progress(now_ms);
    begin_ms_ = static_cast<uint32_t>(now_ms);
    frames_at_join_ = static_cast<uint32_t>(stream_->counters().audio_frames + stream_->counters().video_frames);
    if (stream_->options().no_delay) socket_->set_no_delay(true);
    if (!first_bytes.empty()) pending_.push_back(std::move(first_bytes));
    enter_log(key);
    socket_->park(*this);
    flush(now_ms);
    if (log_) log_->audience().release_sent();
}

void Viewer::enter_log(const LogKey& key) {
    log_ = &stream_->log(key);
    log_->audience().add(*this);
    begin_at_newest();
}

void Viewer::leave_log() {
    CHECK(!job_);
    if (!log_) return;
    log_->audience().remove(*this);
    log_ = nullptr;
}

void Viewer::begin_at_newest() {
    const LiveOptions& options = stream_->options();
    LiveLog::Start* start = options.gop_cache ? log_->start_for_new_viewer(options.audio_cache_ms) : nullptr;
    if (stream_->holds_gop()) start = log_->start_of_held_gop();
    cursor_.wait_from(start ? start->offset : log_->head());
    log_->audience().record_position(cursor_.position());
    state_ = State::kViewing;
    begins_later_ = !start && options.gop_cache && !has_file_header_ && log_->can_copy_gop() && log_->awaits_tracks();
    if (begins_later_) return;
    if (start || !options.gop_cache || !begin_with_copy()) start_if_possible();
}

bool Viewer::begin_with_copy() {
    if (!log_->can_copy_gop()) return false;
    const bool is_first = !has_file_header_;
    media::Time stop = media::Time::max();
    if (rare_ && rare_->duration_ms > 0 && is_first)
        stop = stream_->gop().front().dts + media::from_ms(rare_->duration_ms);
    base::Slice copy;
    if (is_first && stop == media::Time::max() && log_->audience().size() > LiveLog::kFewViewers) {
        copy = log_->shared_gop_copy();
        if (copy.empty()) return false;
    } else {
        copy = log_->gop_copy(is_first, stop);
        if (!stream_->keep_for_viewer(copy.memory())) return false;
        rare().kept_bytes += copy.memory();
    }
    if (stop != media::Time::max()) cursor_.end_at(stop);
    pending_.push_back(std::move(copy));
    has_file_header_ = true;
    cursor_.play_from(cursor_.position());
    return true;
}

void Viewer::start_if_possible(bool now) {
    CHECK(!job_);
    const bool awaits = !now && !has_file_header_ && log_->awaits_tracks();
    if (begins_later_ && !awaits) return begin_at_newest();
    LiveLog::Start* start = log_->next_start(cursor_.position());
    if (!start || begins_later_) return;
    log_->audience().record_position(start->offset);
    if (awaits) return cursor_.hold(start->offset);
    const base::Slice& prefix = log_->prefix(*start, !has_file_header_);
    if (!prefix.empty()) pending_.push_back(prefix);
    if (rare_ && rare_->duration_ms > 0 && !has_file_header_)
        cursor_.end_at(start->dts + media::from_ms(rare_->duration_ms));
    has_file_header_ = true;
    cursor_.play_from(start->offset);
}

size_t Viewer::gather(iovec (&parts)[kMaxParts], size_t& bytes) const {
    CHECK(!job_);
    size_t count = 0;
    auto add = [&](std::span<const uint8_t> part) {
        parts[count++] = {const_cast<uint8_t*>(part.data()), part.size()};
        bytes += part.size();
    };
    uint64_t at = cursor_.position();
    auto add_log = [&](uint64_t end) {
        while (at < end && count < kMaxParts) {
            auto part = log_->contiguous(at, end);
            add(part);
            at += part.size();
        }
    };
    if (!pending_.empty()) {
        add_log(cursor_.packet_end(log_->packets()));
        for (size_t i = 0; i < pending_.size() && count < kMaxParts; ++i) add(pending_[i].bytes());
    }
    add_log(cursor_.limit(log_->packets()));
    return count;
}

void Viewer::advance(size_t bytes) {
    sent_bytes_ += bytes;
    if (!pending_.empty()) {
        const uint64_t rest = cursor_.packet_end(log_->packets()) - cursor_.position();
        const size_t of_packet = std::min<uint64_t>(bytes, rest);
        cursor_.advance(of_packet);
        bytes -= of_packet;
        size_t sent_whole = 0;
        for (; sent_whole < pending_.size() && bytes >= pending_[sent_whole].size(); ++sent_whole)
            bytes -= pending_[sent_whole].size();
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(sent_whole));
        if (!pending_.empty()) {
            if (bytes > 0) pending_.front() = pending_.front().sub(bytes);
            return;
        }
        base::shrink(pending_);
        drop_kept();
    }
    cursor_.advance(bytes);
}

// For all viewers: their own memory has one pointer for it.
class LentWrites final : public runtime::SendJobUser {
  public:
    void on_send_done(runtime::SendJob& job) override { static_cast<Viewer*>(job.owner)->on_lent_write_done(); }
};

namespace {
LentWrites lent_writes;
}  // namespace

bool Viewer::lend(int64_t since_us) {
    // What ends it or makes it begin follows a write at once.
    if (blocked_ || !log_ || state_ != State::kViewing || !cursor_.plays() || cursor_.ends()) return false;
    const runtime::ByteStream::LentWrite write = socket_->lend_write();
    if (!write.call) return false;
    static_assert(kMaxParts == runtime::SendJob::kMaxParts);
    runtime::Senders& senders = *runtime::senders();
    runtime::SendJob& job = senders.take_job();
    iovec parts[kMaxParts];
    size_t bytes = 0;
    job.part_count = static_cast<uint32_t>(gather(parts, bytes));
    std::copy_n(parts, job.part_count, job.parts.begin());
    job.write = write;
    job.user = &lent_writes;
    job.owner = this;
    job.notice = job.part_count == kMaxParts;  // there may be more
    job.wants_time = since_us > 0;
    job.since_us = since_us;
    // Neighbours have the same thread: a few viewers wake one.
    const size_t thread = static_cast<size_t>(write.fd) / runtime::Senders::kMinSends % senders.threads();
    if (job.part_count > 0 && senders.lend(static_cast<uint32_t>(thread), job)) {
        job_ = &job;
        return true;
    }
    senders.release(job);
    return false;
}

bool Viewer::collect(int64_t now_ms) { return runtime::Senders::collect(*job_) && take_result(true, now_ms); }

bool Viewer::settle_lent() { return take_result(runtime::senders()->settle(*job_), runtime::now_ms()); }

bool Viewer::take_result(bool was_made, int64_t now_ms) {
    runtime::SendJob& job = *std::exchange(job_, nullptr);
    const runtime::ByteStream::WriteResult result = job.result;
    if (was_made && job.wants_time && result.bytes >= 0 && !result.blocked)
        log_->audience().record_lent_latency(job.done_us - job.since_us);
    runtime::senders()->release(job);
    if (!was_made) return true;
    const auto sent = socket_->end_lent_write(result);
    if (!sent) {
        die(sent.error().text(), sent.error().close_reason());
        return false;
    }
    if (*sent > 0) record_progress(now_ms);
    advance(*sent);
    return true;
}

void Viewer::settle_anyway() {
    if (!job_) return;
    runtime::SendJob& job = *std::exchange(job_, nullptr);
    if (runtime::senders()->settle(job))
        if (const auto sent = socket_->end_lent_write(job.result)) advance(*sent);
    runtime::senders()->release(job);
}

void Viewer::on_lent_write_done() {
    const int64_t now_ms = runtime::now_ms();
    if (collect(now_ms)) flush(now_ms);
}

void Viewer::flush() { flush(runtime::now_ms()); }

void Viewer::flush(int64_t now_ms) {
    if (cursor_.waits()) start_if_possible();
    if (blocked_ || !log_) return;
    for (size_t count = kMaxParts; count == kMaxParts;) {  // fewer: there are no more
        iovec parts[kMaxParts];
        size_t bytes = 0;
        count = gather(parts, bytes);
        if (count == 0) break;
        auto sent = socket_->try_writev({parts, count});
        if (!sent) return die(sent.error().text(), sent.error().close_reason());
        if (*sent > 0) record_progress(now_ms);
        advance(*sent);
        blocked_ = *sent < bytes;
        if (blocked_) return;
    }
    on_all_sent(now_ms);
}

void Viewer::on_all_sent(int64_t now_ms) {
    if (!shut_) cursor_.record_progress(now_ms);
    if (state_ == State::kFinishing && await_peer_) {
        if (!shut_) socket_->shutdown_write();
        shut_ = true;
    } else if (state_ == State::kFinishing) {
        close_when_sent(now_ms);
    } else {
        conclude_if_over();
    }
}

// Bytes that the socket accepted may still be in flight: the next round checks again.
void Viewer::close_when_sent(int64_t now_ms) {
    auto left = socket_->try_finish();
    if (!left || *left == 0) return die(rare_->end_reason, close_reason_);
    if (!shut_) rare_->finish_until_ms = now_ms + kMaxFinishMs;
    if (!shut_ || *left != rare_->unacknowledged) cursor_.record_progress(now_ms);
    shut_ = true;
    rare_->unacknowledged = *left;
    if (now_ms > rare_->finish_until_ms)
        return die("the last bytes took too long to be acknowledged", CloseReason::kTooSlow);
    check_stall(now_ms);
}

// Too far behind: continues at the newest start, or at the next one to come.
void Viewer::jump() {
    if (!settle()) return;
    if (pending_.size() >= kMaxPending)
        return die("too far behind, and too much is queued for sending", CloseReason::kTooSlow);
    LiveLog::Start* newest = log_->newest_start();
    const media::TrackSet* had = log_->tracks_at(cursor_.position());
    if (!keep_rest_of_packet()) return;
    const uint64_t skipped =
        cursor_.jump(log_->packets(), newest ? std::optional(newest->offset) : std::optional<uint64_t>());
    rare().skipped_bytes += skipped;
    StreamCounters& of_stream = stream_->counters();
    of_stream.skipped_bytes += skipped;
    of_stream.jumped_viewers += rare_->jumps == 0;
    ++of_stream.viewer_jumps;
    ++rare_->jumps;
    if (!cursor_.plays() || newest->tracks.get() == had) return;
    if (const base::Slice& prefix = log_->prefix(*newest, false); !prefix.empty()) pending_.push_back(prefix);
}

bool Viewer::keep_rest_of_packet() {
    CHECK(!job_);
    const uint64_t from = cursor_.position(), boundary = cursor_.packet_end(log_->packets());
    if (boundary > from) {
        const size_t rest = boundary - from;
        if (!stream_->keep_for_viewer(rest)) {
            die("too far behind, and other slow viewers hold too much memory", CloseReason::kTooSlow);
            return false;
        }
        rare().kept_bytes += rest;
        pending_.insert(pending_.begin(), log_->copy(from, boundary));
        cursor_.advance(rest);
    }
    return true;
}

void Viewer::drop_kept() {
    if (rare_ && rare_->kept_bytes > 0) stream_->drop_for_viewer(std::exchange(rare_->kept_bytes, 0));
}

void Viewer::check_stall(int64_t now_ms) {
    if (cursor_.is_too_slow(now_ms, stream_->options().send_timeout_ms))
        die(fmt::format("no byte accepted for {} ms", cursor_.stalled_ms(now_ms)), CloseReason::kTooSlow);
}

bool Viewer::set_end_here() { return log_ && state_ != State::kFinishing && cursor_.end_here(log_->packets()); }

// Bytes published before the end are still sent, then conclude() follows.
void Viewer::end_with_stream(bool await_peer) {
    if (!settle() || !set_end_here()) return;
    await_peer_ = await_peer;
    flush();
}

void Viewer::conclude_if_over() {
    const Cursor::Rest rest = cursor_.rest(log_->packets());
    if (rest == Cursor::Rest::kStreamEnded) conclude("the stream ended", CloseReason::kStreamEnded);
    if (rest == Cursor::Rest::kDurationOver) conclude("the requested duration is over", CloseReason::kDurationOver);
}

void Viewer::conclude(std::string_view why, CloseReason reason) {
    state_ = State::kPaused;  // the handler's last messages come next, and nothing of the log
    cursor_.stop();
    cursor_.forget_end();
    handler_.on_stream_end(*this);
    finish(why, reason);
}

void Viewer::send_control(base::Slice bytes) {
    if (!log_ || bytes.empty() || shut_ || !settle()) return;
    if (pending_.size() >= kMaxPending)
        return abort("too many control messages wait to be sent", CloseReason::kTooSlow);
    pending_.push_back(std::move(bytes));
    flush();
}

void Viewer::set_paused(bool paused) {
    if (!log_ || state_ == State::kFinishing || paused == (state_ == State::kPaused)) return;
    if (!settle() || !keep_rest_of_packet()) return;
    if (paused) {
        state_ = State::kPaused;
        cursor_.stop();
    } else {
        begin_at_newest();
        flush();
    }
}

void Viewer::switch_log(const LogKey& key) {
    if (!log_ || state_ == State::kFinishing || log_->key() == key) return;
    if (!settle() || !keep_rest_of_packet()) return;
    leave_log();
    enter_log(key);
    flush();
}

void Viewer::finish(std::string_view why, CloseReason reason) {
    if (!log_ || state_ == State::kFinishing) return;
    if (!settle() || !keep_rest_of_packet()) return;
    rare().end_reason = why;
    cursor_.stop();
    cursor_.forget_end();
    close_reason_ = reason;
    state_ = State::kFinishing;
    flush();
}

void Viewer::abort(std::string_view why, CloseReason reason) {
    if (log_ && settle()) die(why, reason);
}

// The caller must write the result at once.
std::vector<base::Slice> Viewer::take_unsent() {
    const uint64_t from = cursor_.position(), boundary = cursor_.packet_end(log_->packets());
    if (boundary > from) pending_.insert(pending_.begin(), log_->copy(from, boundary));
    cursor_.advance(boundary - from);
    drop_kept();
    blocked_ = false;
    return std::exchange(pending_, {});
}

std::unique_ptr<runtime::ByteStream> Viewer::leave(std::vector<base::Slice>& unsent) {
    CHECK(log_ != nullptr);
    settle_anyway();
    unsent = take_unsent();
    leave_log();
    socket_->unpark();
    state_ = State::kIdle;
    return std::move(socket_);
}

void Viewer::die(std::string_view why, CloseReason reason) {
    std::string text(why);  // why may be end_reason, or belong to the log
    settle_anyway();
    if (close_reason_ == CloseReason::kUnknown) close_reason_ = reason;
    leave_log();
    state_ = State::kDead;
    // A close is expensive: with thousands at once the events of other connections would wait behind them. Only a plain
    // socket can be closed elsewhere.
    if (socket_->plain_fd() >= 0) {
        socket_->unpark();
    } else {
        socket_.reset();
    }
    pending_.clear();
    drop_kept();
    stream_->delivery().notify_end(*this, handler_, index_, std::move(socket_), text);
}

std::string Viewer::end_text(std::string_view why) const {
    const ViewerCounters counted = counters();
    if (counted.jumps == 0) return std::string(why);
    return fmt::format("{} ({} times too slow, {} bytes skipped)", why, counted.jumps, counted.skipped_bytes);
}

// Reading from TLS may write, and uses the SSL that a thread writes with. What was taken back follows at once.
void Viewer::on_readable() {
    const bool settles = job_ && socket_->is_tls();
    if (settles && !settle_lent()) return;
    read_input();
    if (settles && log_) flush();
}

// In pieces, for a slice of time: a peer may send thousands of small messages at once.
void Viewer::read_input() {
    const auto buffer = runtime::shared_read_buffer().first(kInputPiece);
    const int64_t began_us = base::monotonic_us();
    while (log_) {
        auto got = socket_->try_read(buffer);
        if (!got) return die(got.error().text(), got.error().close_reason());
        received_bytes_ += got->bytes;
        if (got->bytes > 0) handler_.on_viewer_input(*this, buffer.first(got->bytes));
        if (!log_) return;
        if (got->end) return peer_closed();
        if (got->bytes == 0) return;  // not before: the edge may have been that of the input and of its end
        if (!runtime::slice_is_over(base::monotonic_us() - began_us)) continue;
        // The rest is read later: park() reports data that is already available.
        socket_->unpark();
        return socket_->park(*this);
    }
}

void Viewer::on_writable() {
    if (!blocked_) return;
    blocked_ = false;
    record_stall(runtime::now_ms());
    flush();
}

void Viewer::on_hangup() { peer_closed(); }

// After shutting down our side this is the expected end.
void Viewer::peer_closed() {
    if (!settle()) return;
    if (shut_) return die(rare_->end_reason, close_reason_);
    die("closed by the peer", CloseReason::kPeerClosed);
}

}  // namespace live
