#include "live/rtp/rtp_lane.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/prefetch.h"
#include "live/fanout/delivery.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_layers.h"
#include "runtime/loop/clock.h"
#include "runtime/senders/senders.h"

namespace live {

namespace {

// A sequence number that is further from the last one is a jump to another numbering, not loss.
constexpr int kMaxSequenceStep = 3000;
// Minimum rate at which a lane's timestamps advance while a publisher's are rejected.
constexpr int64_t kMinStepsPerSecond = 100;
// Sequence numbers left free before a publisher's first one, for packets reordered at its start.
constexpr uint64_t kRoomBefore = 64;

int64_t ticks_of_us(int64_t us, uint32_t rate) { return us / 1'000'000 * rate + us % 1'000'000 * rate / 1'000'000; }

}  // namespace

RtpLane::RtpLane(Stream& stream, const RtpRingLimits& limits)
    : SinkGroup(stream.delivery().scheduler()), stream_(stream), ring_(limits) {}

RtpLane::~RtpLane() = default;

int RtpLane::track_of(media::Kind kind) const {
    for (size_t i = 0; i < tracks_.size(); ++i)
        if (tracks_[i].kind == kind) return static_cast<int>(i);
    return -1;
}

const RtpTrack* RtpLane::published_track(media::Kind kind) const {
    const int index = published_by_rtp() ? track_of(kind) : -1;
    return index < 0 ? nullptr : &tracks_[static_cast<size_t>(index)];
}

void RtpLane::set_tracks(std::vector<RtpTrack> tracks) {
    CHECK(tracks.size() <= RtpRing::kMaxTracks);
    // A track keeps its numbering, whatever its index was.
    std::array<TrackState, RtpRing::kMaxTracks> before = std::exchange(states_, {});
    for (const TrackState& state : before) highest_sequence_ = std::max(highest_sequence_, state.last_sequence);
    std::vector<bool> taken(tracks_.size());
    for (size_t i = 0; i < tracks.size(); ++i) {
        // A kind that an earlier publisher had, and the last one had not, gets no number twice.
        states_[i].last_sequence = highest_sequence_;
        for (size_t j = 0; j < tracks_.size(); ++j) {
            if (taken[j] || tracks_[j].kind != tracks[i].kind) continue;
            taken[j] = true;
            states_[i] = std::move(before[j]);
            break;
        }
        states_[i].has_received = states_[i].restarted = false;
        states_[i].next_timestamp.reset();
        const uint32_t version = states_[i].clock.version;
        states_[i].clock = {};
        states_[i].clock.version = version;
        states_[i].clock.clock_rate = tracks[i].clock_rate;
        states_[i].kind = tracks[i].kind;
    }
    has_clock_offset_ = false;
    tracks_ = std::move(tracks);
    video_info_ = {};
    ring_.clear();
    red_payloads_.reset();
    notify_sinks(&RtpSink::on_tracks);
    layers_.reset();
}

void RtpLane::set_layers(std::span<const std::string> rids) {
    const int video = track_of(media::Kind::kVideo);
    CHECK(video >= 0 && !layers_);
    layers_ = std::make_unique<RtpLayers>(stream_, *this, tracks_[static_cast<size_t>(video)], rids);
}

size_t RtpLane::memory() const { return ring_.memory() + (layers_ ? layers_->memory() : 0); }

void RtpLane::restart_track(size_t track, std::optional<int64_t> ntp_us) {
    CHECK(track < tracks_.size());
    TrackState& state = states_[track];
    ++counters_.restarts;
    state.has_received = false;
    state.restarted = state.has_history;
    state.next_timestamp.reset();
    if (ntp_us && state.clock.exact) state.next_timestamp = state.clock.at(*ntp_us + clock_offset_us_);
    if (tracks_[track].kind == media::Kind::kVideo) {
        ring_.forget_keyframe(static_cast<uint8_t>(track));
        keyframe_asked_ms_ = INT64_MIN / 2;
    }
    notify_sinks(&RtpSink::on_track_restart, track);
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
    if (!state.has_received) {
        state.publisher_sequence = sequence;
        state.first_sequence = state.last_sequence + 1;
        // Players of another source of the same publisher have the numbers before: leave no gap for them.
        return state.last_sequence += state.restarted ? 1 : kRoomBefore;
    }
    const int step = static_cast<int16_t>(static_cast<uint16_t>(sequence - state.publisher_sequence));
    if (step > kMaxSequenceStep || step < -kMaxSequenceStep) {
        ++counters_.sequence_jumps;
        state.publisher_sequence = sequence;
        // The numbers before are of the other numbering.
        return state.first_sequence = ++state.last_sequence;
    }
    if (step > 0) {
        state.publisher_sequence = sequence;
        return state.last_sequence += static_cast<uint64_t>(step);
    }
    late = true;
    const auto back = static_cast<uint64_t>(-step);
    return back <= state.last_sequence - state.first_sequence ? state.last_sequence - back : 0;
}

// Whether the packet may have that number: whatever the ring has forgotten meanwhile, it is of no other packet.
bool RtpLane::take_sequence(TrackState& state, const RtpPacket& packet, uint64_t newest_before) {
    static_assert(SequenceWindow::kSize > kMaxSequenceStep);
    if (!packet.late) {
        state.assigned.advance(newest_before, packet.sequence);
        return true;
    }
    return packet.sequence > ring_.highest_dropped(packet.track) && state.assigned.take(packet.sequence);
}

// A new source's times continue where the last one's would be by now.
int64_t RtpLane::first_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us) {
    int64_t at = timestamp;
    if (state.has_history) at = state.timestamp + ticks_of_us(now_us - state.arrival_us, rate);
    if (const auto exact = std::exchange(state.next_timestamp, {});
        exact && std::abs(*exact - at) <= kMaxRestartErrorS * int64_t{rate})
        at = *exact;
    if (state.restarted) at = std::max(at, state.timestamp + rate / kMinStepsPerSecond);
    state.add = static_cast<uint32_t>(at) - timestamp;
    return at;
}

int64_t RtpLane::next_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us) {
    const int64_t at = state.ticks(timestamp + state.add);
    const int64_t step = at - state.timestamp, jump = kTimestampJumpS * rate;
    if (step <= jump && step >= -jump) [[likely]]
        return at;
    const int64_t usual = ticks_of_us(now_us - state.arrival_us, rate);
    // After a long silence it may have wrapped meanwhile; or its clock stood still for some of the time.
    const int64_t off =
        static_cast<int32_t>(static_cast<uint32_t>(at) - static_cast<uint32_t>(state.timestamp + usual));
    if (std::abs(off) <= jump) return state.timestamp + usual + off;
    if (step > 0 && step <= usual) return at;
    ++counters_.timestamp_jumps;
    const int64_t corrected = state.timestamp + std::max(usual, rate / kMinStepsPerSecond);
    state.add = static_cast<uint32_t>(corrected) - timestamp;
    return corrected;
}

void RtpLane::append(size_t track, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us) {
    CHECK(track < tracks_.size());
    TrackState& state = states_[track];
    RtpPacket packet;
    packet.track = static_cast<uint8_t>(track);
    const uint64_t newest_before = state.last_sequence;
    packet.sequence = sequence_of(state, head.sequence, packet.late);
    // Older than the lane, or a duplicate.
    if (packet.sequence == 0 || !take_sequence(state, packet, newest_before)) {
        ++counters_.refused;
        return;
    }
    const bool first = !state.has_received;
    const uint32_t rate = state.clock.clock_rate;
    int64_t ticks = 0;
    if (first) {
        ticks = first_ticks(state, rate, head.timestamp, now_us);
        state.has_received = state.has_history = true;
        state.restarted = false;
    } else if (!packet.late) {
        ticks = next_ticks(state, rate, head.timestamp, now_us);
    }
    packet.timestamp = head.timestamp + state.add;
    packet.arrival_us = now_us;
    packet.marker = head.marker;
    packet.keyframe = head.keyframe;
    if (!packet.late) {
        const auto kind = static_cast<size_t>(state.kind);
        if (kind < std::size(counters_.units)) counters_.units[kind] += first || ticks != state.timestamp;
        state.timestamp = ticks;
        state.arrival_us = now_us;
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
    request_calls(waits_for_video(track) ? kMaxAudioWaitMs : 0);
}

bool RtpLane::waits_for_video(size_t track) const {
    return tracks_[track].kind == media::Kind::kAudio && tracks_[track].ptime_ms >= kMinPtimeToWaitMs &&
           track_of(media::Kind::kVideo) >= 0;
}

void RtpLane::request_calls(int64_t in_ms) {
    if (sinks() > 0) request_round(runtime::event_ms() + in_ms);
}

void RtpLane::set_clock(size_t track, int64_t ntp_us, uint32_t timestamp) {
    CHECK(track < tracks_.size());
    TrackState& state = states_[track];
    if (!state.has_received) return;  // the lane's timestamps are not known yet
    if (!has_clock_offset_ && clock_shared_with_ && clock_shared_with_->has_clock_offset_) {
        clock_offset_us_ = clock_shared_with_->clock_offset_us_;
        has_clock_offset_ = true;
    }
    if (!has_clock_offset_) {
        clock_offset_us_ = base::wall_ms() * 1000 - ntp_us;
        has_clock_offset_ = true;
    }
    RtpClock& clock = state.clock;
    if (!clock.exact) ++clock.version;
    clock.known = clock.exact = true;
    clock.timestamp = state.ticks(timestamp + state.add);
    clock.wall_us = ntp_us + clock_offset_us_;
}

void RtpLane::join(RtpSink& sink, Wants wants) {
    add(sink);
    if (wants == Wants::kPlay) {
        stream_.add_player();
        if (++players_ == 1) stream_.notify_demand();
    }
    wake();
}

void RtpLane::leave(RtpSink& sink, Wants wants) {
    if (!is_in(sink)) return;
    remove(sink);
    if (wants == Wants::kPlay) {
        stream_.remove_player();
        if (--players_ == 0) stream_.notify_demand();
    }
}

void RtpLane::wake() { request_calls(0); }

void RtpLane::request_keyframe(int64_t now_ms) {
    ++counters_.keyframe_requests;
    keyframe_wanted_ = true;
    tick(now_ms);
}

bool RtpLane::request_start(int64_t now_ms) {
    const bool is_recent = now_ms < keyframe_asked_ms_ + kStartEveryMs && ring_.newest_keyframe();
    if (!keyframe_source_ || (!keyframe_wanted_ && is_recent)) return false;
    request_keyframe(now_ms);
    return true;
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

void RtpLane::notify_unpublished() {
    keyframe_source_ = nullptr;
    notify_sinks(&RtpSink::on_unpublish);
    layers_.reset();
}

void RtpLane::end_players() { notify_sinks(&RtpSink::on_stream_end); }

}  // namespace live
