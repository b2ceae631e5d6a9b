#include "live/audience.h"

#include <algorithm>

#include "base/clock.h"
#include "live/live_log.h"
#include "live/stream.h"
#include "live/viewer.h"

namespace live {

using runtime::Deadline;

Audience::~Audience() { CHECK(viewers_.empty()); }

void Audience::add(Viewer& viewer) {
    viewer.place_ = static_cast<uint32_t>(viewers_.size());
    viewers_.push_back(&viewer);
    if (pump_ && !pump_.done()) return;
    // The stream owns the log, and the log this: it stays until the pump has ended, even if the pump never gets to run
    // before.
    pump_ = runtime::spawn("live-pump", [this, stream = base::Ref<Stream>(&log_.stream())] { pump(*stream); });
}

void Audience::remove(Viewer& viewer) {
    Viewer* last = viewers_.back();
    viewers_[viewer.place_] = last;
    last->place_ = viewer.place_;
    viewers_.pop_back();
    // The one that took its place may be passed over in this cycle.
    if (last != &viewer) note_position(last->needs_from());
    if (viewers_.empty()) wake_.pulse();
}

void Audience::note_position(uint64_t offset) { lowest_position_ = std::min(lowest_position_, offset); }

void Audience::on_append(bool urgent) {
    bool tell = !unsent_ || (urgent && !urgent_);
    unsent_ = true;
    urgent_ |= urgent;
    if (tell && log_.stream().options().merge_ms == 0) wake_.pulse();
}

void Audience::start_waiting() {
    for (Viewer* viewer : viewers_)
        if (viewer->state_ == Viewer::State::kWaitingStart) viewer->start_if_possible();
}

void Audience::end_all() {
    // Backwards: who ends at once is replaced by the last.
    for (size_t i = viewers_.size(); i-- > 0;)
        if (i < viewers_.size()) viewers_[i]->stream_ended();
}

void Audience::pump(Stream& stream) {
    next_cycle_ms_ = base::monotonic_ms();
    while (!viewers_.empty() && !runtime::cancelled()) {
        const LiveOptions& options = stream.options();
        int64_t interval = std::max(options.merge_ms, options.send_min_interval_ms);
        lowest_position_ = UINT64_MAX;
        if (interval > 0)
            merge_cycle(interval);
        else
            frame_cycle();
        if (!runtime::cancelled()) trim();  // else not everybody was asked what he still needs
    }
    if (viewers_.empty()) stream.drop_log(log_);  // this object is gone after it
}

void Audience::merge_cycle(int64_t interval_ms) {
    int64_t now = base::monotonic_ms();
    if (next_cycle_ms_ < now - interval_ms) next_cycle_ms_ = now;
    int64_t begin_ms = next_cycle_ms_;
    next_cycle_ms_ += interval_ms;
    size_t phases = std::clamp<size_t>(viewers_.size() / kViewersPerPhase, 1, kMostPhases);
    size_t begin = 0;
    for (size_t phase = 0; phase < phases && !viewers_.empty(); ++phase) {
        int64_t at_ms = begin_ms + interval_ms * static_cast<int64_t>(phase) / static_cast<int64_t>(phases);
        Deadline at = Deadline::at_us(at_ms * 1000);
        while (!viewers_.empty() && !at.passed() && !runtime::cancelled()) (void)wake_.wait_next(at);
        // From where the last one ended, however many came and went: nobody is left out of a cycle.
        begin = walk(begin, viewers_.size() * (phase + 1) / phases);
    }
}

void Audience::frame_cycle() {
    if (!unsent_) (void)wake_.wait_next(Deadline::in_ms(kIdleMs));
    if (unsent_ && !urgent_) {
        Deadline alone = Deadline::in_ms(log_.stream().options().audio_wait_ms);
        while (!urgent_ && !viewers_.empty() && !alone.passed() && !runtime::cancelled()) (void)wake_.wait_next(alone);
    }
    if (viewers_.size() >= kManyViewers) {
        Deadline tick = Deadline::at_us(next_cycle_ms_ * 1000);
        while (!viewers_.empty() && !tick.passed() && !runtime::cancelled()) (void)wake_.wait_next(tick);
    }
    next_cycle_ms_ = base::monotonic_ms() + kTickMs;
    urgent_ = false;
    unsent_ = false;
    walk(0, viewers_.size());
}

size_t Audience::walk(size_t begin, size_t end) {
    lag_limit_ = log_.lag_limit(log_.stream().options().queue_length_ms);
    int64_t turn_began_us = base::monotonic_us();
    size_t i = begin;
    for (size_t visited = 0; i < std::min(end, viewers_.size());) {
        Viewer* viewer = viewers_[i];
        visit(*viewer, turn_began_us / 1000);
        // A viewer that went away left its place to another.
        if (i < viewers_.size() && viewers_[i] == viewer) ++i;
        if (++visited % 16 != 0 || base::monotonic_us() - turn_began_us < kTurnUs) continue;
        if (!runtime::yield()) return i;
        turn_began_us = base::monotonic_us();
    }
    return i;
}

void Audience::visit(Viewer& viewer, int64_t now_ms) {
    if (viewer.state_ == Viewer::State::kPlaying && viewer.position_ < lag_limit_) viewer.jump();
    if (viewer.blocked_) {
        viewer.check_stall(now_ms);
    } else {
        viewer.flush(now_ms);
    }
    note_position(viewer.needs_from());
}

void Audience::trim() {
    uint64_t keep_from = std::min(lowest_position_, log_.head());
    const LiveOptions& options = log_.stream().options();
    if (LiveLog::Start* start = log_.place_to_begin(options.audio_cache_ms); start && options.gop_cache)
        keep_from = std::min(keep_from, start->offset);
    log_.trim(keep_from);
}

}  // namespace live
