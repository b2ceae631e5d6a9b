#include "convert/segments/segmenter.h"

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <utility>

#include "live/hub/timeline.h"

namespace convert {

namespace {

using media::Frame;
using media::Kind;
using media::Time;
using namespace std::chrono_literals;

constexpr Time kForwardJump = live::Timeline::kForwardJump;
constexpr Time kBackwardJump = live::Timeline::kBackwardJump;
constexpr Time kVideoPause = 5s;    // after this the stream counts as audio-only
constexpr size_t kMaxHeld = 2'000;  // frames
constexpr Time kMaxStep = 1s;       // between frames of the leading track, as far as it tells how long the next one is
// A segment is cut when it takes this many times its longest duration by the clock.
constexpr int64_t kMaxSlower = 2;
// A pause is made parts of when the open part has lasted this many part targets, or longer where frames come in bursts,
// but no longer than players have something to play (PART-HOLD-BACK).
constexpr int kMinPatienceHalves = 3, kMaxPatienceHalves = 6;
// Of the part target: a shorter part is one that ends before a gap (draft-pantos-hls-rfc8216bis, 4.4.4.9).
constexpr int kMinPartPercent = 85;
// Published times are rounded and jitter slightly: a keyframe that comes this much early is the expected one.
constexpr int64_t kMaxSlackMs = 100;

bool same(const media::Track* a, const media::Track* b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && a->index == b->index && a->revision == b->revision;
}

bool is_first_video(const media::Track& track) { return track.kind == Kind::kVideo && track.index == 0; }

// Whether all tracks but the first video are the same.
bool same_others(const media::TrackSet& a, const media::TrackSet& b) {
    const auto others = std::views::filter([](const media::Track& track) { return !is_first_video(track); });
    return std::ranges::equal(a.tracks | others, b.tracks | others,
                              [](const media::Track& x, const media::Track& y) { return same(&x, &y); });
}

// Frames of the first track of a kind: how many, and from the first one's time to the last one's.
struct Measured {
    int64_t count = 0;
    Time span{};
};
Measured measure(const std::deque<Frame>& frames, Kind kind) {
    Measured out;
    Time first{};
    for (const Frame& frame : frames) {
        if (frame.kind != kind || frame.track != 0) continue;
        if (out.count++ == 0) first = frame.dts;
        out.span = frame.dts - first;
    }
    return out;
}

// The length of those by which parts are cut.
Time frame_length(const std::deque<Frame>& frames) {
    for (const Kind kind : {Kind::kVideo, Kind::kAudio})
        if (const Measured measured = measure(frames, kind); measured.count > 1 && measured.span > Time(0))
            return measured.span / (measured.count - 1);
    return 40ms;
}

// The one at whose keyframes segments begin.
bool is_main_video(const Frame& frame) { return frame.kind == Kind::kVideo && frame.track == 0; }
bool is_main_keyframe(const Frame& frame) { return is_main_video(frame) && frame.keyframe; }

}  // namespace

int64_t Segmenter::longest_wait_ms() const {
    auto audio = static_cast<int64_t>(options_.aof_ratio * static_cast<double>(options_.fragment_ms));
    return std::max<int64_t>(60'000, audio);
}

void Segmenter::begin() {
    if (state_ != State::kIdle) end();
    state_ = State::kStarting;
    next_ = base::make_ref<media::TrackSet>();
    compare_tracks();
    has_keyframe_ = false;
    discontinuity_ = has_segment_;
    longest_silence_ms_ = 0;
    fed_ = {};
    forget_last();
    before_jump_.reset();
}

void Segmenter::feed(const Frame& frame, const Arrival& arrival) {
    if (frame.kind == Kind::kData || state_ == State::kIdle) return;
    now_ = arrival;
    learn_silence();
    fed_dts_ = frame.dts;
    has_keyframe_ |= is_main_keyframe(frame);
    // It cannot be decoded without a keyframe, and must not begin segments.
    if (is_main_video(frame) && !has_keyframe_) return;
    switch (state_) {
        case State::kStarting:
            return starting(frame);
        case State::kOpen:
            return running(frame);
        case State::kPaused:
            return resume(frame);
        case State::kLost:
            return retry(frame);
        case State::kIdle:
            return;
    }
}

void Segmenter::set_tracks(const base::Ref<media::TrackSet>& tracks) {
    next_ = tracks;
    compare_tracks();
}

void Segmenter::compare_tracks() {
    new_video_ = !same(tracks_->video(), next_->video());
    new_others_ = !same_others(*tracks_, *next_);
}

void Segmenter::forget_last() {
    last_.for_each([](Time& last) { last = media::kNoTime; });
    keyframe_dts_ = media::kNoTime;
}

// ---- The beginning

void Segmenter::starting(const Frame& frame) {
    if (frame.discontinuity && !held_.empty()) {
        start();
        return feed(frame, now_);
    }
    if (frame.kind == Kind::kVideo && !frame.keyframe && !has_keyframe_) return;  // of another track
    keep(frame);
    if (can_start(frame)) start();
}

void Segmenter::keep(const Frame& frame) {
    if (held_.empty()) held_since_ms_ = now_.monotonic_ms;
    if (held_.empty() || !frame.payload.shares_memory(held_.back().payload)) held_bytes_ += frame.payload.memory();
    held_bytes_ += sizeof(frame);
    held_.push_back(frame);
}

std::deque<Frame> Segmenter::take_held() {
    held_bytes_ = 0;
    return std::exchange(held_, {});
}

// Limits held frames in number and bytes if they arrive at once, and by the clock to the same time as by the stream.
bool Segmenter::held_enough() const {
    return held_.size() >= kMaxHeld || held_bytes_ >= kMaxHeldBytes || now_.monotonic_ms - held_since_ms_ >= kMaxHeldMs;
}

bool Segmenter::can_start(const Frame& newest) const {
    if (held_enough()) return true;
    if (options_.part_ms > 0 && part_target_ == Time(0))
        return measure(held_, next_->video() ? Kind::kVideo : Kind::kAudio).span >= kTracksKnown;
    const Time waited = newest.dts - held_.front().dts;
    if (waited < Time(0) || waited >= media::from_ms(kMaxHeldMs)) return true;
    bool video_began = std::ranges::any_of(held_, is_main_keyframe);
    if (video_began && next_->audio()) return true;
    // A sequence header announces video: wait for it.
    return waited >= kTracksKnown && (video_began || !next_->video());
}

void Segmenter::start() {
    std::deque<Frame> frames = take_held();
    if (frames.empty()) return;
    auto key = std::ranges::find_if(frames, is_main_keyframe);
    newest_ = frames.front().dts;
    choose_part_target(frames);
    // A keyframe far from the audio before it is a jump.
    const bool begins = key != frames.end() && media::distance(key->dts, newest_) <= kForwardJump;
    open_at(begins ? *key : frames.front());
    // A second keyframe among them may already end the segment.
    for (const Frame& frame : frames) {
        if (state_ == State::kOpen) running(frame);
    }
}

// Whole frames, and room for the jitter of published times, which are whole milliseconds: a part is between 85 and 100
// % of it (draft-pantos-hls-rfc8216bis, 4.4.4.9). Measured rates are rounded, so that it is the same after a restart.
void Segmenter::choose_part_target(const std::deque<Frame>& frames) {
    if (options_.part_ms == 0 || part_target_ > Time(0)) return;
    constexpr Time kExact = 125ms;  // longer frames are not rounded
    Time length = std::clamp<Time>(frame_length(frames), 1ms, 1s);
    if (length < kExact) length = Time(1s) / std::max<int64_t>(1, (Time(1s) + length / 2) / length);
    const int64_t count = std::max<int64_t>(1, (media::from_ms(options_.part_ms) + length / 2) / length);
    const Time most = count * length * 108 / 100;
    part_target_ = std::chrono::ceil<std::chrono::milliseconds>(most);
}

// ---- An open segment

Segmenter::Fit Segmenter::fit(const Frame& frame) {
    // Neither does a track move away from the others in small steps: segments would be as long as the distance.
    const Time last = std::max(last_of(frame), newest_ - kForwardJump);
    if (frame.dts >= last - kBackwardJump && frame.dts <= newest_ + kForwardJump) return Fit::kFits;
    if (!before_jump_) return Fit::kJumps;
    bool before = media::distance(frame.dts, *before_jump_) <= kForwardJump;
    return before ? Fit::kBeforeJump : Fit::kJumps;
}

bool Segmenter::video_flows(Time dts) const {
    return tracks_->video() && (main_video_last() == media::kNoTime || dts - main_video_last() <= kVideoPause);
}

bool Segmenter::is_long_enough(Time elapsed, int64_t wanted_ms) const {
    const Time wanted = media::from_ms(wanted_ms);
    if (!options_.ts_floor) return elapsed >= wanted;
    // By the wall clock; also by the stream's times if frames arrive faster than they play.
    bool floor = now_.wall_ms / options_.fragment_ms != started_.wall_ms / options_.fragment_ms;
    return floor || elapsed >= 2 * wanted;
}

// Whether the segment has had all the bytes and all the time by the clock that it may have.
bool Segmenter::exhausted() const {
    return bytes_ >= options_.max_bytes || now_.monotonic_ms - started_.monotonic_ms >= kMaxSlower * longest_wait_ms();
}

// Whether it is of the track whose frames tell how long the segment is.
bool Segmenter::is_leading(const Frame& frame) const {
    return is_main_video(frame) || (frame.track == 0 && !video_flows(frame.dts));
}

// Whether the segment would be longer than it may be if it had the frame. One of another track says so only where the
// leading one pauses.
bool Segmenter::would_be_too_long(const Frame& frame) const {
    const Time elapsed = frame.dts - start_dts_;
    return elapsed > (is_leading(frame) ? longest_ - step_ : longest_);
}

// Whether the segment ends before this frame, which belongs to its tracks and times.
bool Segmenter::due(const Frame& frame) const {
    const Time elapsed = frame.dts - start_dts_;
    if (elapsed >= media::from_ms(longest_wait_ms()) || exhausted()) return true;
    if (elapsed > longest_ - kMaxStep && would_be_too_long(frame)) return true;
    if (frame.track != 0 || !may_begin()) return false;
    if (frame.keyframe) {
        const Time slack = media::from_ms(std::min(kMaxSlackMs, options_.fragment_ms / 10));
        const Time gop = keyframe_dts_ == media::kNoTime ? Time(0) : frame.dts - keyframe_dts_;
        return discontinuity_ || !held_.empty() || (options_.wait_keyframe && elapsed > longest_ - gop) ||
               is_long_enough(elapsed + slack, options_.fragment_ms) || (ends_before_ && ends_before_(frame.dts));
    }
    if (frame.kind == Kind::kVideo) return !options_.wait_keyframe && is_long_enough(elapsed, options_.fragment_ms);
    if (video_flows(frame.dts)) return false;
    auto wanted = static_cast<int64_t>(options_.aof_ratio * static_cast<double>(options_.fragment_ms));
    return discontinuity_ || ends_at_next_audio_ || is_long_enough(elapsed, wanted);
}

// The published times jumped, and the stream left them as they are.
void Segmenter::jump(const Frame& frame) {
    release_held();  // before a later frame of their track
    if (state_ != State::kOpen) return;
    close(end_dts(), std::nullopt);
    before_jump_ = newest_;
    discontinuity_ = true;
    forget_last();
    newest_ = frame.dts;
    open_at(frame);
    write(frame);
}

void Segmenter::running(const Frame& frame) {
    switch (fit(frame)) {
        case Fit::kFits:
            discontinuity_ |= frame.discontinuity;
            break;
        case Fit::kBeforeJump:
            if (exhausted()) return jump(frame);
            release_held();
            if (state_ == State::kOpen) write_to_part(frame);
            return;
        case Fit::kJumps:
            return jump(frame);
    }
    const bool main = is_main_video(frame);
    const bool is_new = main ? new_video_ : new_others_ || !held_.empty();
    if (is_new && !main && video_flows(frame.dts)) return hold(frame);
    if (is_new || due(frame)) {
        cut(frame);
        if (state_ != State::kOpen) return;
    }
    write(frame);
}

// A new track is held until the next segment.
void Segmenter::hold(const Frame& frame) {
    keep(frame);
    if (held_enough() || frame.dts - held_.front().dts >= media::from_ms(kMaxHeldMs)) cut(frame);
}

void Segmenter::cut(const Frame& frame) {
    before_jump_.reset();
    close(frame.dts, is_main_video(frame) ? std::optional(frame.dts) : std::nullopt);
    open_at(frame);
    const std::deque<Frame> held = take_held();
    for (const Frame& waited : held) {
        if (state_ == State::kOpen) write(waited);
    }
}

void Segmenter::open_at(const Frame& frame) {
    if (!may_begin()) {
        state_ = State::kLost;
        discontinuity_ = true;
        lost_at_ = frame.dts - kRetry;
        return;
    }
    next_begin_ms_ = std::max(next_begin_ms_, now_.monotonic_ms) + kMsPerSegment;
    close_gap();
    base::Ref<media::TrackSet> tracks = next_;
    // Video that was announced but has not arrived counts as a new track when it does.
    if (!has_keyframe_ && tracks->video()) {
        tracks = base::make_ref<media::TrackSet>(*tracks);
        std::erase_if(tracks->tracks, [](const media::Track& track) { return track.kind == Kind::kVideo; });
    }
    bool changed = !has_segment_ || !same(tracks_->video(), tracks->video()) || !same_others(*tracks_, *tracks);
    bool discontinuity = has_segment_ && (discontinuity_ || changed);
    tracks_ = std::move(tracks);
    compare_tracks();
    has_segment_ = true;
    discontinuity_ = ends_at_next_audio_ = false;
    start_dts_ = frame.dts;
    started_ = now_;
    bytes_ = 0;
    part_start_ = start_dts_;
    part_has_frame_ = part_has_video_ = part_is_independent_ = false;
    makes_gaps_ = part_target_ > Time(0);
    leading_dts_ = frame.dts;
    leading_ms_ = now_.monotonic_ms;
    state_ = State::kOpen;
    const Time ahead = std::clamp(fed_dts_ - frame.dts, Time(0), media::from_ms(kMaxHeldMs));
    sink_.open_segment({*tracks_, frame, changed, discontinuity, now_.wall_ms, now_.wall_ms - media::to_ms(ahead)});
}

// A pause in the times that is longer than a segment may be is no part of it.
void Segmenter::close(Time end_dts, std::optional<Time> next_video_dts) {
    Time end = start_dts_ + std::clamp<Time>(end_dts - start_dts_, 1ms, longest_);
    if (part_target_ > Time(0)) {
        while (end - part_start_ > part_target_ && state_ == State::kOpen)
            end_part(part_start_ + part_target_, next_video_dts);
        // Times that go back: what is listed stays.
        end = std::max<Time>(end, part_start_ + (part_has_frame_ ? Time(1ms) : Time(0)));
        if (end > part_start_ && state_ == State::kOpen) end_part(end, next_video_dts);
        if (state_ != State::kOpen) return;
    }
    sink_.close_segment({end - start_dts_, next_video_dts});
    if (bytes_ >= kSmallBytes) next_begin_ms_ -= kMsPerSegment;
}

// The end of the last frame of the leading track.
Time Segmenter::end_dts() const {
    const Time last = tracks_->video() && main_video_last() != media::kNoTime ? main_video_last() : newest_;
    return std::max(last, start_dts_) + step_;
}

// ---- Parts

// Ends the open part where it would be longer than the part target with the frame. Frames of other tracks may be ahead
// of the leading one: only where that pauses they end parts too. Parts of less than half of the target, which times
// that jitter would make, do not end.
void Segmenter::end_parts_before(const Frame& frame) {
    if (frame.track != 0) return;
    const bool leads = is_leading(frame);
    const auto next = is_main_video(frame) ? std::optional(frame.dts) : std::nullopt;
    while (frame.dts - part_start_ > 2 * part_target_ && state_ == State::kOpen)
        end_part(part_start_ + part_target_, next);
    if (!leads || state_ != State::kOpen) return;
    const Time length = frame.dts - part_start_;
    if (length + step_ > part_target_ && length >= part_target_ / 2)
        end_part(std::min(frame.dts, part_start_ + part_target_), next);
}

void Segmenter::end_part(Time end, std::optional<Time> next_video_dts) {
    const bool independent = part_has_frame_ && (part_has_video_ ? part_is_independent_ : !tracks_->video());
    const Part part{part_start_, end - part_start_, independent, !part_has_frame_};
    part_start_ = end;
    part_has_frame_ = part_has_video_ = part_is_independent_ = false;
    sink_.end_part({part, next_video_dts});
}

void Segmenter::write_to_part(const Frame& frame) {
    if (is_main_video(frame) && !std::exchange(part_has_video_, true)) part_is_independent_ = frame.keyframe;
    part_has_frame_ = true;
    bytes_ += frame.payload.size();
    sink_.write_frame(frame);
}

void Segmenter::write(const Frame& frame) {
    if (state_ == State::kOpen && part_target_ > Time(0)) end_parts_before(frame);
    if (state_ != State::kOpen) return;
    Time& last = last_of(frame);
    bool leads = is_main_video(frame) || (frame.track == 0 && !tracks_->video());
    if (leads && last != media::kNoTime && frame.dts > last) step_ = std::min(frame.dts - last, kMaxStep);
    last = frame.dts;
    if (is_main_keyframe(frame)) keyframe_dts_ = frame.dts;
    newest_ = std::max(newest_, frame.dts);
    if (is_leading(frame)) {
        leading_dts_ = frame.dts;
        leading_ms_ = now_.monotonic_ms;
    }
    write_to_part(frame);
}

// ---- Pauses

// Frames may come in bursts: a part that lasts a silence longer than its length is not late yet.
Time Segmenter::patience() const {
    return std::clamp<Time>(part_target_ + media::from_ms(longest_silence_ms_ * 5 / 4),
                            part_target_ * kMinPatienceHalves / 2, part_target_ * kMaxPatienceHalves / 2);
}

void Segmenter::learn_silence() {
    const int64_t silence_ms = now_.monotonic_ms - std::exchange(fed_, now_).monotonic_ms;
    const int64_t limit_ms = 2 * (part_target_ > Time(0) ? media::to_ms(part_target_) : options_.part_ms);
    if (silence_ms <= limit_ms) longest_silence_ms_ = std::max(longest_silence_ms_, silence_ms);
}

int64_t Segmenter::gap_due_ms() const {
    if (!makes_gaps_) return INT64_MAX;
    return leading_ms_ + 1 + media::to_ms(part_start_ + patience() - leading_dts_);
}

// The open part should be complete, by the clock. What a segment has of the stream ends with its last frame.
void Segmenter::pass_part() {
    if (state_ == State::kOpen && !held_.empty()) return release_held();
    const Time end = part_start_ + part_target_;
    if (state_ == State::kOpen && part_has_frame_) {
        end_part(std::clamp<Time>(newest_ + step_, part_start_ + 1ms, end), std::nullopt);
        if (state_ != State::kOpen || part_start_ + part_target_ * (100 - kMinPartPercent) / 100 >= end) return;
    }
    if (state_ == State::kOpen) {
        close(part_start_, std::nullopt);
        if (state_ == State::kOpen) state_ = State::kPaused;
    }
    extend_gap(end);
}

// Parts without a frame, to that time, in segments without a frame that are no longer than others.
void Segmenter::extend_gap(Time to) {
    const Time longest = std::min(longest_, std::max(media::from_ms(options_.fragment_ms), part_target_));
    while (part_start_ < to) {
        const Time end = std::min(to, part_start_ + part_target_);
        if (gap_open_ && end - start_dts_ > longest) close_gap();
        if (!std::exchange(gap_open_, true)) {
            start_dts_ = part_start_;
            part_has_frame_ = part_has_video_ = part_is_independent_ = false;
            sink_.open_gap(start_dts_);
        }
        end_part(end, std::nullopt);
    }
}

void Segmenter::close_gap() {
    if (std::exchange(gap_open_, false)) sink_.close_segment({part_start_ - start_dts_, std::nullopt});
}

// The first frame behind a pause. If it is of a time before the pause's end the stream is not continuous.
void Segmenter::resume(const Frame& frame) {
    if (fit(frame) == Fit::kFits && frame.dts >= part_start_) {
        extend_gap(frame.dts);
    } else {
        discontinuity_ = true;
        forget_last();
        newest_ = frame.dts;
    }
    discontinuity_ |= frame.discontinuity;
    before_jump_.reset();
    open_at(frame);
    if (state_ == State::kOpen) write(frame);
}

void Segmenter::end_gaps() {
    close_gap();
    makes_gaps_ = false;
}

// ---- End

void Segmenter::lost() {
    if (state_ != State::kOpen) return;
    state_ = State::kLost;
    discontinuity_ = true;
    take_held();
    lost_at_ = newest_;
}

void Segmenter::retry(const Frame& frame) {
    newest_ = frame.dts;
    bool waited = frame.dts < lost_at_ || frame.dts - lost_at_ >= kRetry;
    bool can_begin =
        next_->video() ? is_main_keyframe(frame) || frame.dts - lost_at_ >= media::from_ms(longest_wait_ms()) : true;
    if (!waited || !can_begin) return;
    forget_last();
    before_jump_.reset();
    open_at(frame);
    write(frame);
}

void Segmenter::end() {
    if (state_ == State::kStarting) start();
    if (state_ == State::kOpen && !held_.empty()) {
        // Frames that wait for a keyframe that does not come.
        Frame first = held_.front();
        cut(first);
    }
    if (state_ == State::kOpen) close(end_dts(), std::nullopt);
    state_ = State::kIdle;
    take_held();
}

void Segmenter::tick(int64_t monotonic_ms) {
    now_.monotonic_ms = monotonic_ms;
    if (!held_.empty() && held_enough()) release_held();
    for (int i = 0; now_.monotonic_ms >= gap_due_ms(); ++i) {
        if (i < kMaxGapsAtOnce) {
            pass_part();
        } else {
            leading_dts_ = part_start_;
            leading_ms_ = now_.monotonic_ms;
        }
    }
}

void Segmenter::release_held() {
    if (held_.empty()) return;
    if (state_ == State::kStarting) return start();
    const Frame first = held_.front();
    if (state_ == State::kOpen) cut(first);
}

}  // namespace convert
