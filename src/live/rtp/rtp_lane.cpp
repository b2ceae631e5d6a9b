#include "live/rtp/rtp_lane.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "live/hub/stream.h"

namespace live {

using runtime::Deadline;

namespace {

// Numbers that are further from the last one are another numbering, not loss.
constexpr int kMaxSequenceStep = 3000;
// What a lane's timestamps go on by at least, where a publisher's are not believed.
constexpr int64_t kLeastStepsPerSecond = 100;
// Left free before a publisher's first number, for packets that overtook one another at its start.
constexpr uint64_t kRoomBefore = 64;
// A publisher's report that is off the line of those before it by less than this wavers: it is followed by a quarter,
// so that sound is not cut for it. By more, its clock was set.
constexpr int64_t kWaveringUs = 60'000;

int64_t ticks_of_us(int64_t us, uint32_t rate) { return us / 1'000'000 * rate + us % 1'000'000 * rate / 1'000'000; }

}  // namespace

RtpLane::RtpLane(Stream& stream, const RtpRingLimits& limits) : stream_(stream), ring_(limits) {}

RtpLane::~RtpLane() { CHECK(sinks_.empty()); }

int RtpLane::track_of(media::Kind kind) const {
    for (size_t i = 0; i < tracks_.size(); ++i)
        if (tracks_[i].kind == kind) return static_cast<int>(i);
    return -1;
}

const RtpTrack* RtpLane::published_track(media::Kind kind) const {
    const int place = published_by_rtp() ? track_of(kind) : -1;
    return place < 0 ? nullptr : &tracks_[static_cast<size_t>(place)];
}

void RtpLane::set_tracks(std::vector<RtpTrack> tracks, int64_t) {
    CHECK(tracks.size() <= RtpRing::kMaxTracks);
    // A track's numbers go on, whatever its place was.
    std::array<TrackState, RtpRing::kMaxTracks> before = std::exchange(states_, {});
    std::vector<bool> taken(tracks_.size());
    for (size_t i = 0; i < tracks.size(); ++i) {
        for (size_t j = 0; j < tracks_.size(); ++j) {
            if (taken[j] || tracks_[j].kind != tracks[i].kind) continue;
            taken[j] = true;
            states_[i] = before[j];
            break;
        }
        states_[i].any = states_[i].restarted = false;
        const uint32_t version = states_[i].clock.version;
        states_[i].clock = {};
        states_[i].clock.version = version;
        states_[i].clock.clock_rate = tracks[i].clock_rate;
    }
    has_clock_offset_ = false;
    tracks_ = std::move(tracks);
    picture_ = {};
    ring_.clear();
    tell(&RtpSink::on_tracks);
}

void RtpLane::restart_track(size_t track) {
    CHECK(track < tracks_.size());
    ++counters_.restarts;
    states_[track].any = false;
    states_[track].restarted = states_[track].ever;
    if (tracks_[track].kind == media::Kind::kVideo) {
        ring_.forget_keyframe(static_cast<uint8_t>(track));
        keyframe_asked_ms_ = INT64_MIN / 2;
    }
    // Backwards: who leaves is replaced by the last.
    for (size_t i = sinks_.size(); i-- > 0;)
        if (i < sinks_.size()) sinks_[i]->on_track_restart(track);
}

void RtpLane::expect(const KeyframeSource* by, std::vector<RtpTrack> tracks) {
    expected_by_ = by;
    expected_ = std::move(tracks);
}

void RtpLane::expect_no_more(const KeyframeSource* by) {
    if (expected_by_ != by) return;
    expected_by_ = nullptr;
    expected_ = {};
}

uint64_t RtpLane::sequence_of(TrackState& state, uint16_t sequence, bool& late) {
    if (!state.any) {
        state.publisher_sequence = sequence;
        state.first_sequence = state.last_sequence + 1;
        // Players of another source of the same publisher have the numbers before: no hole for them.
        return state.last_sequence += state.restarted ? 1 : kRoomBefore;
    }
    const int step = static_cast<int16_t>(static_cast<uint16_t>(sequence - state.publisher_sequence));
    if (step > kMaxSequenceStep || step < -kMaxSequenceStep) {
        ++counters_.sequence_jumps;
        state.publisher_sequence = sequence;
        return ++state.last_sequence;
    }
    if (step > 0) {
        state.publisher_sequence = sequence;
        return state.last_sequence += static_cast<uint64_t>(step);
    }
    late = true;
    const auto back = static_cast<uint64_t>(-step);
    return back <= state.last_sequence - state.first_sequence ? state.last_sequence - back : 0;
}

// A new source's times go on where the last one's would be by now.
int64_t RtpLane::first_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us) {
    int64_t at = timestamp;
    if (state.ever) at = state.timestamp + ticks_of_us(now_us - state.came_us, rate);
    if (state.restarted) at = std::max(at, state.timestamp + rate / kLeastStepsPerSecond);
    state.add = static_cast<uint32_t>(at) - timestamp;
    return at;
}

int64_t RtpLane::next_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us) {
    const int64_t at = state.ticks(timestamp + state.add);
    const int64_t step = at - state.timestamp, jump = kTimestampJumpS * rate;
    if (step <= jump && step >= -jump) [[likely]]
        return at;
    const int64_t usual = ticks_of_us(now_us - state.came_us, rate);
    // After a long silence it may have wrapped meanwhile; or its clock stood still for some of the time.
    const int64_t off =
        static_cast<int32_t>(static_cast<uint32_t>(at) - static_cast<uint32_t>(state.timestamp + usual));
    if (std::abs(off) <= jump) return state.timestamp + usual + off;
    if (step > 0 && step <= usual) return at;
    ++counters_.timestamp_jumps;
    const int64_t placed = state.timestamp + std::max(usual, rate / kLeastStepsPerSecond);
    state.add = static_cast<uint32_t>(placed) - timestamp;
    return placed;
}

void RtpLane::append(size_t track, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us) {
    CHECK(track < tracks_.size());
    TrackState& state = states_[track];
    RtpPacket packet;
    packet.sequence = sequence_of(state, head.sequence, packet.late);
    // Older than the lane, or come twice.
    if (packet.sequence == 0 || (packet.late && ring_.find(static_cast<uint8_t>(track), packet.sequence))) return;
    const bool first = !state.any;
    const uint32_t rate = tracks_[track].clock_rate;
    int64_t ticks = 0;
    if (first) {
        ticks = first_ticks(state, rate, head.timestamp, now_us);
        state.any = state.ever = true;
        state.restarted = false;
    } else if (!packet.late) {
        ticks = next_ticks(state, rate, head.timestamp, now_us);
    }
    packet.timestamp = head.timestamp + state.add;
    packet.came_us = now_us;
    packet.track = static_cast<uint8_t>(track);
    packet.marker = head.marker;
    packet.keyframe = head.keyframe;
    if (!packet.late) {
        const auto kind = static_cast<size_t>(tracks_[track].kind);
        if (kind < std::size(counters_.units)) counters_.units[kind] += first || ticks != state.timestamp;
        state.timestamp = ticks;
        state.came_us = now_us;
        if (!state.clock.known) {
            state.clock.known = true;
            state.clock.timestamp = ticks;
            state.clock.wall_us = base::wall_ms() * 1000;
            ++state.clock.version;
        }
    }
    ++counters_.packets;
    counters_.bytes += payload.size();
    counters_.late += packet.late;
    if (packet.keyframe) {
        ++counters_.keyframes;
        keyframe_wanted_ = false;
    }
    ring_.append(std::move(packet), payload);
    note_unread(!rides(track));
}

bool RtpLane::rides(size_t track) const {
    return tracks_[track].kind == media::Kind::kAudio && tracks_[track].ptime_ms >= kRideFromMs &&
           track_of(media::Kind::kVideo) >= 0;
}

void RtpLane::note_unread(bool pressing) {
    const bool is_news = !unread_ || (pressing && !pressing_);
    unread_ = true;
    pressing_ |= pressing;
    if (is_news) wake_.pulse();
}

void RtpLane::set_clock(size_t track, int64_t ntp_us, uint32_t timestamp, int64_t) {
    CHECK(track < tracks_.size());
    TrackState& state = states_[track];
    if (!state.any) return;  // the lane's timestamps are not known yet
    if (!has_clock_offset_) {
        clock_offset_us_ = base::wall_ms() * 1000 - ntp_us;
        has_clock_offset_ = true;
    }
    RtpClock& clock = state.clock;
    if (!clock.exact) ++clock.version;
    int64_t wall_us = ntp_us + clock_offset_us_;
    const int64_t ticks = state.ticks(timestamp + state.add);
    const int64_t off_us = wall_us - clock.moment(ticks);
    if (clock.exact && std::abs(off_us) < kWaveringUs) wall_us -= off_us * 3 / 4;
    clock.known = clock.exact = true;
    clock.timestamp = ticks;
    clock.wall_us = wall_us;
}

void RtpLane::join(RtpSink& sink, Wants wants) {
    CHECK(sink.place_ == UINT32_MAX);
    sink.place_ = static_cast<uint32_t>(sinks_.size());
    sinks_.push_back(&sink);
    if (wants == Wants::kPlay && ++players_ == 1) stream_.tell_demand();
    wake();
    if (pump_ && !pump_.done()) return;
    // The stream owns this: it stays until the pump has ended.
    pump_ = runtime::spawn("rtp-pump", [this, stream = base::Ref<Stream>(&stream_)] { pump(); });
}

void RtpLane::leave(RtpSink& sink, Wants wants) {
    if (sink.place_ == UINT32_MAX) return;
    RtpSink* last = sinks_.back();
    sinks_[sink.place_] = last;
    last->place_ = sink.place_;
    sinks_.pop_back();
    sink.place_ = UINT32_MAX;
    if (wants == Wants::kPlay && --players_ == 0) stream_.tell_demand();
    if (sinks_.empty()) wake_.pulse();
}

void RtpLane::wake() { note_unread(true); }

void RtpLane::request_keyframe(int64_t now_ms) {
    ++counters_.keyframe_requests;
    keyframe_wanted_ = true;
    tick(now_ms);
}

void RtpLane::tick(int64_t now_ms) {
    if (!keyframe_wanted_ || !keyframe_source_ || now_ms < keyframe_asked_ms_ + kKeyframeEveryMs) return;
    keyframe_asked_ms_ = now_ms;
    ++counters_.keyframes_asked;
    keyframe_source_->make_keyframe();
}

void RtpLane::restart() {
    keyframe_source_ = nullptr;
    keyframe_asked_ms_ = INT64_MIN / 2;
}

void RtpLane::tell_unpublished() {
    keyframe_source_ = nullptr;
    tell(&RtpSink::on_unpublish);
}

void RtpLane::end_players() { tell(&RtpSink::on_stream_end); }

void RtpLane::tell(void (RtpSink::*what)()) {
    // Backwards: who leaves is replaced by the last.
    for (size_t i = sinks_.size(); i-- > 0;)
        if (i < sinks_.size()) (sinks_[i]->*what)();
}

void RtpLane::pump() {
    int64_t next_ms = 0;
    bool more = false;
    while (!sinks_.empty() && !runtime::cancelled()) {
        if (more) {
            (void)wake_.wait_next(Deadline::in_ms(kPaceMs));
        } else if (!unread_) {
            (void)wake_.wait_next(Deadline::never());
        }
        pressing_ |= more;  // who is behind waits for no picture
        if (sinks_.size() >= kManySinks) wait_for_many(next_ms, base::monotonic_ms() + kRideMs);
        next_ms = base::monotonic_ms() + kTickMs;
        more = walk();
    }
}

// Until the tick, and what does not press until ride_ms.
void RtpLane::wait_for_many(int64_t tick_ms, int64_t ride_ms) {
    const Deadline tick = Deadline::at_us(tick_ms * 1000);
    const Deadline ride = Deadline::at_us(ride_ms * 1000);
    while (!sinks_.empty() && !runtime::cancelled() && !(tick.passed() && (pressing_ || ride.passed())))
        (void)wake_.wait_next(pressing_ || tick_ms > ride_ms ? tick : ride);
}

bool RtpLane::walk() {
    constexpr int64_t kTurnUs = 1000;  // how long the pump keeps the loop
    unread_ = pressing_ = false;
    int64_t now_us = base::monotonic_us();
    int64_t turn_began_us = now_us;
    bool more = false;
    size_t visited = 0;
    for (size_t i = 0; i < sinks_.size();) {
        RtpSink* sink = sinks_[i];
        more |= sink->on_packets(now_us);
        // One that went away left its place to another.
        if (i < sinks_.size() && sinks_[i] == sink) ++i;
        if (++visited % 16 != 0) continue;
        now_us = base::monotonic_us();
        if (now_us - turn_began_us < kTurnUs) continue;
        if (!runtime::yield()) return false;
        turn_began_us = now_us = base::monotonic_us();
    }
    return more;
}

}  // namespace live
