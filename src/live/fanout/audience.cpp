#include "live/fanout/audience.h"

#include <algorithm>
#include <utility>

#include "live/fanout/fanout.h"
#include "live/fanout/live_log.h"
#include "live/fanout/viewer.h"
#include "live/hub/stream.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"

namespace live {

using runtime::Deadline;

Audience::Audience(LiveLog& log) : log_(log), latency_(log.stream().fanout().latency(log.key().format->protocol)) {}

Audience::~Audience() { CHECK(viewers_.empty()); }

void Audience::add(Viewer& viewer) {
    viewer.index_ = static_cast<uint32_t>(viewers_.size());
    viewers_.push_back(&viewer);
    if (pump_ && !pump_.done()) return;
    // The stream owns the log, and the log this object. The pump's reference keeps it until the pump has ended, even if
    // the pump is never scheduled before.
    pump_ = runtime::spawn("live-pump", [this, stream = base::Ref<Stream>(&log_.stream())] { pump(*stream); });
}

void Audience::remove(Viewer& viewer) {
    Viewer* last = viewers_.back();
    viewers_[viewer.index_] = last;
    last->index_ = viewer.index_;
    viewers_.pop_back();
    // The viewer that took its index may be skipped in this cycle.
    if (last != &viewer) note_position(last->needs_from());
    if (viewers_.empty()) wake_.pulse();
}

void Audience::note_position(uint64_t offset) { lowest_position_ = std::min(lowest_position_, offset); }

void Audience::on_append(bool urgent, int64_t now_us) {
    bool notify = !unsent_ || (urgent && !urgent_);
    unsent_ = true;
    urgent_ |= urgent;
    if (until_sample_ != 0 && --until_sample_ == 0) [[unlikely]]
        begin_sample(now_us);
    if (notify && log_.stream().options().merge_ms == 0) wake_.pulse();
}

void Audience::on_publisher_read() {
    if (std::exchange(reading_, false)) wake_.pulse();
    if (!left_ || viewers_.size() > LiveLog::kFewViewers) return;  // a crowd has joined: the pump visits it
    left_ = false;
    pass();
}

int64_t Audience::configured_interval_ms() const {
    const LiveOptions& options = log_.stream().options();
    return std::max(options.merge_ms, options.send_min_interval_ms);
}

int64_t Audience::cycle_after(int64_t begin_ms) const {
    const int64_t offset_ms = log_.stream().pass_offset_ms();
    return ((begin_ms - offset_ms) / interval_ms_ + 1) * interval_ms_ + offset_ms;
}

// Viewers that have all there is: if the reader finds nothing, nothing waits for the next pass. A reload may have
// changed the interval.
bool Audience::may_leave_to_reader() const {
    return viewers_.size() <= LiveLog::kFewViewers && log_.tail() == log_.head() && !ending_ &&
           configured_interval_ms() == interval_ms_;
}

void Audience::on_due() {
    const bool silent = std::exchange(left_, false);  // nothing came since the last pass
    if (may_leave_to_reader()) {
        if (silent) pass();  // it finds stalls
        const int64_t now_ms = runtime::event_ms();
        if (next_cycle_ms_ <= now_ms) next_cycle_ms_ = cycle_after(now_ms);  // the loop has stalled
        left_ = log_.stream().read_publisher() && log_.stream().fanout().clock().add(*this, next_cycle_ms_);
    }
    if (left_) {
        next_cycle_ms_ = cycle_after(next_cycle_ms_);
    } else {
        due_ = true;
        wake_.pulse();
    }
}

void Audience::pass() {
    lowest_position_ = UINT64_MAX;
    visit_range(0, viewers_.size(), runtime::event_us());
    end_cycle();
}

void Audience::end_cycle() {
    slowest_position_ = lowest_position_;
    trim_from(lowest_position_);
}

void Audience::await_pass(int64_t at_ms) {
    const Deadline at = Deadline::at_us(at_ms * 1000);
    if (at.passed()) return;
    PassClock& clock = log_.stream().fanout().clock();
    const bool by_clock =
        viewers_.size() <= LiveLog::kFewViewers && interval_ms_ >= kClockMs && clock.add(*this, at_ms);
    due_ = false;
    while (!viewers_.empty() && !due_ && !ending_ && !runtime::cancelled() && (by_clock || !at.passed()))
        (void)wake_.wait_next(by_clock ? Deadline::never() : at);
    clock.remove(*this);
}

void Audience::read_publisher() {
    if (!log_.stream().read_publisher()) return;
    reading_ = true;
    const Deadline limit = Deadline::in_ms(kReadLimitMs);
    while (reading_ && !viewers_.empty() && !ending_ && !limit.passed() && !runtime::cancelled())
        (void)wake_.wait_next(limit);
    reading_ = false;
}

void Audience::start_waiting() {
    for (Viewer* viewer : viewers_)
        if (viewer->state_ == Viewer::State::kWaitingStart) viewer->start_if_possible(true);
}

void Audience::end_all() {
    for (Viewer* viewer : viewers_) viewer->set_end_here();
    ending_ = true;
    wake_.pulse();
}

void Audience::abort_all(std::string_view why, base::CloseReason reason) {
    for (size_t i = viewers_.size(); i-- > 0;)
        if (i < viewers_.size()) viewers_[i]->abort(why, reason);
}

void Audience::jump_before(uint64_t offset) {
    // Backwards: a viewer that ends is replaced by the last.
    for (size_t i = viewers_.size(); i-- > 0;) {
        if (i >= viewers_.size()) continue;
        Viewer& viewer = *viewers_[i];
        if (viewer.state_ == Viewer::State::kPlaying && viewer.position_ < offset) viewer.jump();
    }
    trim_from(lowest_needed());
}

uint64_t Audience::lowest_needed() const {
    uint64_t lowest = UINT64_MAX;
    for (const Viewer* viewer : viewers_) lowest = std::min(lowest, viewer->needs_from());
    return lowest;
}

void Audience::release_sent() {
    if (viewers_.size() > LiveLog::kFewViewers) return;
    uint64_t lowest = lowest_needed();
    for (const Viewer* viewer : viewers_)
        if (viewer->state_ == Viewer::State::kWaitingStart) lowest = std::min(lowest, viewer->position_);
    trim_from(lowest);
}

void Audience::pump(Stream& stream) {
    next_cycle_ms_ = runtime::now_ms();
    while (!viewers_.empty() && !runtime::cancelled()) {
        interval_ms_ = configured_interval_ms();
        lowest_position_ = UINT64_MAX;
        if (interval_ms_ > 0)
            merge_cycle(runtime::now_ms());
        else
            frame_cycle();
        if (!runtime::cancelled()) end_cycle();  // a cancelled cycle has not visited all viewers
    }
    if (viewers_.empty()) stream.drop_log(log_);  // this object is destroyed by it
}

void Audience::merge_cycle(int64_t now_ms) {
    if (next_cycle_ms_ < now_ms - interval_ms_) next_cycle_ms_ = now_ms;
    const int64_t begin_ms = next_cycle_ms_;
    next_cycle_ms_ = cycle_after(begin_ms);
    size_t phases = std::clamp<size_t>(viewers_.size() / kViewersPerPhase, 1, kMaxPhases);
    phases_ = static_cast<uint32_t>(phases);
    const bool ending = std::exchange(ending_, false);
    size_t begin = 0;
    for (size_t phase = 0; phase < phases && !viewers_.empty(); ++phase) {
        const int64_t elapsed_ms = interval_ms_ * static_cast<int64_t>(phase) / static_cast<int64_t>(phases);
        if (!ending) await_pass(begin_ms + elapsed_ms);
        if (!ending) read_publisher();
        // From where the last phase ended, however many viewers joined or left: each cycle visits every viewer.
        begin = visit_range(begin, viewers_.size() * (phase + 1) / phases, runtime::now_us());
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
    const int64_t now_us = runtime::now_us();
    next_cycle_ms_ = now_us / 1000 + kTickMs;
    urgent_ = false;
    unsent_ = false;
    phases_ = 1;
    visit_range(0, viewers_.size(), now_us);
}

size_t Audience::visit_range(size_t begin, size_t end, int64_t now_us) {
    lag_limit_ = log_.lag_limit(log_.stream().options().queue_length_ms);
    int64_t slice_began_us = now_us;
    const bool sampled = sampled_passes_ > 0;
    behind_ = 0;
    size_t i = begin, visited = 0, noted = 0;
    for (; i < std::min(end, viewers_.size());) {
        Viewer* viewer = viewers_[i];
        visit(*viewer, now_us / 1000);
        // A viewer that left was replaced by another.
        if (i < viewers_.size() && viewers_[i] == viewer) ++i;
        if (++visited % 16 != 0) continue;
        now_us = runtime::now_us();
        if (!runtime::slice_is_over(now_us - slice_began_us)) continue;
        if (sampled) note_latency(visited - std::exchange(noted, visited), now_us);
        if (!runtime::yield()) return i;
        slice_began_us = now_us = runtime::now_us();
    }
    if (sampled) {
        note_latency(visited - noted, runtime::now_us());
        end_sampled_pass();
    }
    return i;
}

void Audience::visit(Viewer& viewer, int64_t now_ms) {
    if (viewer.state_ == Viewer::State::kPlaying && viewer.position_ < lag_limit_) viewer.jump();
    if (viewer.blocked_) {
        ++behind_;
        viewer.check_stall(now_ms);
    } else {
        viewer.flush(now_ms);
    }
    note_position(viewer.needs_from());
}

void Audience::begin_sample(int64_t now_us) {
    sample_came_us_ = now_us;
    sampled_passes_ = phases_;
}

void Audience::note_latency(size_t viewers, int64_t now_us) {
    latency_.add(now_us - sample_came_us_, viewers - std::min<size_t>(viewers, behind_));
    behind_ = 0;
}

// The next sample is chosen at random: a packet at a fixed distance after a pass would always have waited as long.
void Audience::end_sampled_pass() {
    constexpr uint32_t kMaxApart = 32;  // packets
    if (--sampled_passes_ > 0) return;
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    until_sample_ = 1 + static_cast<uint32_t>(random_ >> 33) % kMaxApart;
}

void Audience::trim_from(uint64_t lowest_position) {
    log_.trim(std::min({lowest_position, log_.head(), log_.begin_offset()}));
}

}  // namespace live
