#include "live/fanout/audience.h"

#include <algorithm>
#include <utility>

#include "live/fanout/delivery.h"
#include "live/fanout/live_log.h"
#include "live/fanout/viewer.h"
#include "live/hub/stream.h"
#include "runtime/loop/clock.h"
#include "runtime/senders/senders.h"

namespace live {

Audience::Audience(LiveLog& log)
    : SendGroup(log.stream().delivery().scheduler()),
      log_(log),
      latency_(log.stream().delivery().latency(log.key().format->protocol)) {}

Audience::~Audience() { CHECK(viewers_.empty()); }

void Audience::add(Viewer& viewer) {
    viewer.index_ = static_cast<uint32_t>(viewers_.size());
    viewers_.push_back(&viewer);
    if (!viewer.is_forward()) log_.stream().add_player();
    if (viewers_.size() > 1) return;
    enter();
    interval_ms_ = configured_interval_ms();
    request_round(runtime::event_ms());
}

void Audience::remove(Viewer& viewer) {
    Viewer* last = viewers_.back();
    viewers_[viewer.index_] = last;
    last->index_ = viewer.index_;
    viewers_.pop_back();
    if (!viewer.is_forward()) log_.stream().remove_player();
    // The viewer that took its index may be skipped in this cycle.
    if (last != &viewer) record_position(last->cursor_.needed_from());
    if (viewers_.empty()) request_round(runtime::event_ms());
}

void Audience::record_position(uint64_t offset) { lowest_position_ = std::min(lowest_position_, offset); }

void Audience::on_append(bool urgent, int64_t now_us) {
    if (until_sample_ != 0 && --until_sample_ == 0) [[unlikely]]
        begin_sample(now_us);
    if (interval_ms_ == 0 && !viewers_.empty())
        request_round(now_us / 1000 + (urgent ? 0 : stream().options().audio_wait_ms));
}

int64_t Audience::configured_interval_ms() const {
    const LiveOptions& options = log_.stream().options();
    return std::max(options.merge_ms, options.send_min_interval_ms);
}

int64_t Audience::cycle_after(int64_t ms) const {
    const int64_t offset_ms = log_.stream().cycle_offset_ms();
    return ((ms - offset_ms) / interval_ms_ + 1) * interval_ms_ + offset_ms;
}

Stream& Audience::stream() const { return log_.stream(); }

SendGroup::Begin Audience::begin_round(int64_t now_ms) {
    if (viewers_.empty()) {
        stream().drop_log(log_);
        return Begin::kGone;
    }
    if (round_ == 0) begin_cycle(now_ms);
    lends_ = runtime::senders() && runtime::senders()->takes_round(round_end() - std::min(next_, round_end()));
    return interval_ms_ > 0 && stream().read_publisher() ? Begin::kReads : Begin::kReady;
}

void Audience::begin_cycle(int64_t now_ms) {
    interval_ms_ = configured_interval_ms();
    cycle_began_ms_ = now_ms;
    next_ = 0;
    lowest_position_ = UINT64_MAX;
    rounds_ = 1;
    if (interval_ms_ > 0)
        rounds_ = static_cast<uint32_t>(std::clamp<size_t>(viewers_.size() / kViewersPerRound, 1, kMaxRounds));
    else
        delay_rounds_until(now_ms + spacing_ms(viewers_.size()));
}

void Audience::end_round(int64_t now_ms) {
    if (sampled_rounds_ > 0) end_sampled_round();
    if (++round_ < rounds_) return request_round(cycle_began_ms_ + interval_ms_ * round_ / rounds_);
    round_ = 0;
    end_cycle(now_ms);
}

void Audience::end_cycle(int64_t now_ms) {
    slowest_position_ = lowest_position_;
    trim_from(lowest_position_);
    const int64_t pause_ms = std::exchange(has_uncollected_, false) ? kUncollectedMs : kIdleMs;
    request_round(interval_ms_ > 0 ? cycle_after(cycle_began_ms_) : now_ms + pause_ms);
}

void Audience::start_waiting() {
    for (Viewer* viewer : viewers_)
        if (viewer->cursor_.waits()) viewer->start_if_possible(true);
}

void Audience::end_all() {
    for (Viewer* viewer : viewers_) viewer->set_end_here();
    request_round(runtime::event_ms());
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
        if (viewer.is_before(offset)) viewer.jump();
    }
    trim_from(lowest_needed());
}

uint64_t Audience::lowest_needed() const {
    uint64_t lowest = UINT64_MAX;
    for (const Viewer* viewer : viewers_) lowest = std::min(lowest, viewer->cursor_.needed_from());
    return lowest;
}

void Audience::release_sent() {
    if (viewers_.size() > LiveLog::kFewViewers) return;
    uint64_t lowest = lowest_needed();
    for (const Viewer* viewer : viewers_)
        if (viewer->cursor_.waits()) lowest = std::min(lowest, viewer->cursor_.position());
    trim_from(lowest);
}

bool Audience::send_batch(int64_t now_us) {
    const uint64_t lag_limit = log_.packets().lag_limit(stream().options().queue_length_ms);
    behind_ = 0;
    size_t visited = 0, count = viewers_.size(), end = round_end();
    for (; visited < kBatch && next_ < end; ++visited) {
        Viewer* viewer = viewers_[next_];
        visit(*viewer, lag_limit, now_us / 1000);
        // A viewer that left was replaced by another.
        if (next_ < viewers_.size() && viewers_[next_] == viewer) ++next_;
        if (viewers_.size() == count) continue;
        count = viewers_.size();
        end = round_end();
    }
    if (sampled_rounds_ > 0) record_latency(visited, runtime::now_us());
    return next_ < end;
}

void Audience::visit(Viewer& viewer, uint64_t lag_limit, int64_t now_ms) {
    if (runtime::senders()) [[unlikely]] {
        if (viewer.is_lent()) (void)viewer.collect(now_ms);
        if (viewer.is_before(lag_limit)) viewer.jump();
        if (!is_with_thread(viewer)) send_to(viewer, now_ms);
    } else {
        if (viewer.cursor_.is_before(lag_limit)) viewer.jump();
        send_to(viewer, now_ms);
    }
    record_position(viewer.cursor_.needed_from());
}

bool Audience::is_with_thread(Viewer& viewer) {
    has_uncollected_ |= viewer.is_lent();
    if (!viewer.is_lent() && !(lends_ && viewer.lend(sampled_rounds_ > 0 ? sample_arrival_us_ : 0))) return false;
    ++behind_;
    return true;
}

void Audience::send_to(Viewer& viewer, int64_t now_ms) {
    if (viewer.blocked_) {
        ++behind_;
        viewer.check_stall(now_ms);
    } else {
        viewer.flush(now_ms);
    }
}

void Audience::begin_sample(int64_t now_us) {
    sample_arrival_us_ = now_us;
    sampled_rounds_ = rounds_;
}

void Audience::record_latency(size_t viewers, int64_t now_us) {
    latency_.add(now_us - sample_arrival_us_, viewers - std::min<size_t>(viewers, behind_));
}

// The next sample is chosen at random: a packet at a fixed distance after a round would always have waited as long.
void Audience::end_sampled_round() {
    constexpr uint32_t kMaxApart = 32;  // packets
    if (--sampled_rounds_ > 0) return;
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    until_sample_ = 1 + static_cast<uint32_t>(random_ >> 33) % kMaxApart;
}

void Audience::trim_from(uint64_t lowest_position) {
    log_.trim(std::min({lowest_position, log_.head(), log_.begin_offset()}));
}

}  // namespace live
