#include "live/fanout/viewer.h"

#include <algorithm>
#include <utility>

#include "base/shrink.h"
#include "live/fanout/fanout.h"
#include "live/fanout/live_log.h"
#include "live/hub/stream.h"
#include "runtime/loop/clock.h"

namespace live {

using base::CloseReason;

Viewer::Viewer(ViewerHandler& handler, base::Ref<Stream> stream) : handler_(handler), stream_(std::move(stream)) {}

Viewer::~Viewer() {
    leave_log();
    drop_kept();
    if (state_ == State::kDead) stream_->fanout().forget(index_);
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

void Viewer::join(const LogKey& key, std::unique_ptr<runtime::ByteStream> socket, base::Slice first_bytes) {
    CHECK(state_ == State::kIdle);
    socket_ = std::move(socket);
    progress_ms_ = runtime::now_ms();
    if (stream_->options().no_delay) socket_->set_no_delay(true);
    if (!first_bytes.empty()) pending_.push_back(std::move(first_bytes));
    enter_log(key);
    socket_->park(*this);
    flush(progress_ms_);
    if (log_) log_->audience().release_sent();
}

void Viewer::enter_log(const LogKey& key) {
    log_ = &stream_->log(key);
    log_->audience().add(*this);
    begin_at_newest();
}

void Viewer::leave_log() {
    if (!log_) return;
    log_->audience().remove(*this);
    log_ = nullptr;
}

void Viewer::begin_at_newest() {
    const LiveOptions& options = stream_->options();
    LiveLog::Start* start = options.gop_cache ? log_->start_for_new_viewer(options.audio_cache_ms) : nullptr;
    position_ = start ? start->offset : log_->head();
    log_->audience().note_position(position_);
    state_ = State::kWaitingStart;
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
    if (stop != media::Time::max()) rare_->stop_dts = stop;
    pending_.push_back(std::move(copy));
    has_file_header_ = true;
    state_ = State::kPlaying;
    return true;
}

void Viewer::start_if_possible(bool now) {
    const bool awaits = !now && !has_file_header_ && log_->awaits_tracks();
    if (begins_later_ && !awaits) return begin_at_newest();
    LiveLog::Start* start = log_->next_start(position_);
    if (!start || begins_later_) return;
    position_ = start->offset;
    log_->audience().note_position(position_);
    holds_start_ = awaits;
    if (awaits) return;
    const base::Slice& prefix = log_->prefix(*start, !has_file_header_);
    if (!prefix.empty()) pending_.push_back(prefix);
    if (rare_ && rare_->duration_ms > 0 && !has_file_header_)
        rare_->stop_dts = start->dts + media::from_ms(rare_->duration_ms);
    has_file_header_ = true;
    state_ = State::kPlaying;
}

// The end of the log bytes that may be sent now.
uint64_t Viewer::log_limit() const {
    if (state_ != State::kPlaying) return position_;
    if (!rare_) return log_->head();
    uint64_t limit = std::min(log_->head(), rare_->end_offset);
    if (rare_->stop_dts) limit = std::min(limit, log_->offset_at(*rare_->stop_dts));
    return std::max(position_, limit);
}

size_t Viewer::gather(iovec (&parts)[kMaxParts], size_t& bytes) const {
    size_t count = 0;
    auto add = [&](std::span<const uint8_t> part) {
        parts[count++] = {const_cast<uint8_t*>(part.data()), part.size()};
        bytes += part.size();
    };
    uint64_t at = position_;
    auto add_log = [&](uint64_t end) {
        while (at < end && count < kMaxParts) {
            auto part = log_->contiguous(at, end);
            add(part);
            at += part.size();
        }
    };
    if (!pending_.empty()) {
        if (state_ == State::kPlaying) add_log(log_->packet_end(position_));
        for (size_t i = 0; i < pending_.size() && count < kMaxParts; ++i) add(pending_[i].bytes());
    }
    add_log(log_limit());
    return count;
}

void Viewer::advance(size_t bytes) {
    sent_bytes_ += bytes;
    if (!pending_.empty()) {
        uint64_t boundary = state_ == State::kPlaying ? log_->packet_end(position_) : position_;
        size_t of_packet = std::min<uint64_t>(bytes, boundary - position_);
        position_ += of_packet;
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
    position_ += bytes;
}

void Viewer::flush() { flush(runtime::now_ms()); }

void Viewer::flush(int64_t now_ms) {
    if (state_ == State::kWaitingStart) start_if_possible();
    while (!blocked_ && log_) {
        iovec parts[kMaxParts];
        size_t bytes = 0;
        size_t count = gather(parts, bytes);
        if (count == 0) {
            if (!shut_) progress_ms_ = now_ms;
            if (state_ == State::kFinishing && await_peer_) {
                if (!shut_) socket_->shutdown_write();
                shut_ = true;
                return;
            }
            if (state_ == State::kFinishing) return close_when_sent(now_ms);
            if (position_ >= end_offset()) return conclude("the stream ended", CloseReason::kStreamEnded);
            if (state_ == State::kPlaying && position_ < log_->head())
                return conclude("the requested duration is over", CloseReason::kDurationOver);
            return;
        }
        auto sent = socket_->try_writev({parts, count});
        if (!sent) return die(sent.error().text(), sent.error().close_reason());
        if (*sent > 0) progress_ms_ = now_ms;
        advance(*sent);
        blocked_ = *sent < bytes;
    }
}

// Bytes that the socket accepted may still be in flight: the next round checks again.
void Viewer::close_when_sent(int64_t now_ms) {
    auto left = socket_->try_finish();
    if (!left || *left == 0) return die(rare_->end_reason, close_reason_);
    if (!shut_) rare_->finish_until_ms = now_ms + kMaxFinishMs;
    if (!shut_ || *left != rare_->unacknowledged) progress_ms_ = now_ms;
    shut_ = true;
    rare_->unacknowledged = *left;
    if (now_ms > rare_->finish_until_ms)
        return die("the last bytes took too long to be acknowledged", CloseReason::kTooSlow);
    check_stall(now_ms);
}

// Too far behind: continues at the newest start, or at the next one to come.
void Viewer::jump() {
    if (pending_.size() >= kMaxPending)
        return die("too far behind, and too much is queued for sending", CloseReason::kTooSlow);
    LiveLog::Start* newest = log_->newest_start();
    uint64_t from = log_->packet_end(position_);
    const media::TrackSet* had = log_->tracks_at(position_);
    if (!keep_rest_of_packet()) return;
    bool ahead = newest && newest->offset > from;
    position_ = ahead ? newest->offset : log_->head();
    rare().skipped_bytes += position_ - from;
    StreamCounters& of_stream = stream_->counters();
    of_stream.skipped_bytes += position_ - from;
    of_stream.jumped_viewers += rare_->jumps == 0;
    ++of_stream.viewer_jumps;
    ++rare_->jumps;
    if (!ahead) {
        state_ = State::kWaitingStart;
    } else if (newest->tracks.get() != had) {
        if (const base::Slice& prefix = log_->prefix(*newest, false); !prefix.empty()) pending_.push_back(prefix);
    }
}

bool Viewer::keep_rest_of_packet() {
    if (state_ != State::kPlaying) return true;
    uint64_t boundary = log_->packet_end(position_);
    if (boundary > position_) {
        const size_t rest = boundary - position_;
        if (!stream_->keep_for_viewer(rest)) {
            die("too far behind, and other slow viewers hold too much memory", CloseReason::kTooSlow);
            return false;
        }
        rare().kept_bytes += rest;
        pending_.insert(pending_.begin(), log_->copy(position_, boundary));
    }
    position_ = boundary;
    return true;
}

void Viewer::drop_kept() {
    if (rare_ && rare_->kept_bytes > 0) stream_->drop_for_viewer(std::exchange(rare_->kept_bytes, 0));
}

void Viewer::check_stall(int64_t now_ms) {
    int64_t limit = stream_->options().send_timeout_ms;
    if (limit > 0 && now_ms - progress_ms_ > limit)
        die(fmt::format("no byte accepted for {} ms", now_ms - progress_ms_), CloseReason::kTooSlow);
}

bool Viewer::set_end_here() {
    if (!log_ || state_ == State::kFinishing || end_offset() != UINT64_MAX) return false;
    rare().end_offset = state_ == State::kPlaying ? log_->head() : position_;
    return true;
}

// Bytes published before the end are still sent, then conclude() follows.
void Viewer::end_with_stream(bool await_peer) {
    if (!set_end_here()) return;
    await_peer_ = await_peer;
    flush();
}

void Viewer::conclude(std::string_view why, CloseReason reason) {
    state_ = State::kPaused;  // the handler's last messages come next, and nothing of the log
    rare().end_offset = UINT64_MAX;
    handler_.on_stream_end(*this);
    finish(why, reason);
}

void Viewer::send_control(base::Slice bytes) {
    if (!log_ || bytes.empty() || shut_) return;
    if (pending_.size() >= kMaxPending)
        return abort("too many control messages wait to be sent", CloseReason::kTooSlow);
    pending_.push_back(std::move(bytes));
    flush();
}

void Viewer::set_paused(bool paused) {
    if (!log_ || state_ == State::kFinishing || paused == (state_ == State::kPaused)) return;
    if (!keep_rest_of_packet()) return;
    if (paused) {
        state_ = State::kPaused;
    } else {
        begin_at_newest();
        flush();
    }
}

void Viewer::switch_log(const LogKey& key) {
    if (!log_ || state_ == State::kFinishing || log_->key() == key) return;
    if (!keep_rest_of_packet()) return;
    leave_log();
    enter_log(key);
    flush();
}

void Viewer::finish(std::string_view why, CloseReason reason) {
    if (!log_ || state_ == State::kFinishing) return;
    if (!keep_rest_of_packet()) return;
    rare().end_reason = why;
    rare_->end_offset = UINT64_MAX;
    close_reason_ = reason;
    state_ = State::kFinishing;
    flush();
}

void Viewer::abort(std::string_view why, CloseReason reason) {
    if (log_) die(why, reason);
}

// The caller must write the result at once.
std::vector<base::Slice> Viewer::take_unsent() {
    if (state_ == State::kPlaying) {
        const uint64_t boundary = log_->packet_end(position_);
        if (boundary > position_) pending_.insert(pending_.begin(), log_->copy(position_, boundary));
        position_ = boundary;
    }
    drop_kept();
    blocked_ = false;
    return std::exchange(pending_, {});
}

std::unique_ptr<runtime::ByteStream> Viewer::leave(std::vector<base::Slice>& unsent) {
    CHECK(log_ != nullptr);
    unsent = take_unsent();
    leave_log();
    socket_->unpark();
    state_ = State::kIdle;
    return std::move(socket_);
}

std::unique_ptr<runtime::ByteStream> Viewer::exchange_socket(std::unique_ptr<runtime::ByteStream> next,
                                                             std::vector<base::Slice>& unsent) {
    CHECK(log_ != nullptr);
    unsent = take_unsent();
    socket_->unpark();
    std::swap(socket_, next);
    socket_->park(*this);
    return next;
}

void Viewer::die(std::string_view why, CloseReason reason) {
    std::string text(why);  // why may be end_reason, or belong to the log
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
    stream_->fanout().notify_end(*this, handler_, index_, std::move(socket_), text);
}

std::string Viewer::end_text(std::string_view why) const {
    const ViewerCounters counted = counters();
    if (counted.jumps == 0) return std::string(why);
    return fmt::format("{} ({} times too slow, {} bytes skipped)", why, counted.jumps, counted.skipped_bytes);
}

void Viewer::on_readable() {
    auto buffer = runtime::shared_read_buffer();
    for (size_t total = 0; log_;) {
        auto got = socket_->try_read(buffer);
        if (!got) return die(got.error().text(), got.error().close_reason());
        received_bytes_ += got->bytes;
        total += got->bytes;
        if (got->bytes > 0) handler_.on_viewer_input(*this, buffer.first(got->bytes));
        if (!log_) return;
        if (got->end) return peer_closed();
        if (got->bytes == 0) return;  // not before: the edge may have been that of the input and of its end
        if (total > kMaxInputBytes) return die("a flood of input from a viewer", CloseReason::kFlood);
    }
}

void Viewer::on_writable() {
    if (!blocked_) return;
    blocked_ = false;
    flush();
}

void Viewer::on_hangup() { peer_closed(); }

// After shutting down our side this is the expected end.
void Viewer::peer_closed() {
    if (shut_) return die(rare_->end_reason, close_reason_);
    die("closed by the peer", CloseReason::kPeerClosed);
}

}  // namespace live
