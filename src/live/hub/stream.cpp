#include "live/hub/stream.h"

#include <algorithm>
#include <functional>

#include "base/log.h"
#include "live/fanout/live_log.h"
#include "live/hub/registry.h"
#include "live/messages/message_lane.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/tick_wheel.h"

namespace live {
namespace {

// A stream whose video has paused for this long counts as audio only, until the next video frame.
constexpr media::Time kVideoPause = std::chrono::seconds(5);

// The GOP cache's maximum share of stream_memory, whatever gop_cache_max_frames allows.
constexpr size_t kGopShare = 2;
// A payload that is a part of a larger allocation keeps at most this much beside it and its own size.
constexpr size_t kMaxBeside = 16 * 1024;
// Memory is counted after this many published bytes, or after this share of its limit.
constexpr size_t kCheckedBytes = 1024 * 1024;
constexpr size_t kCheckedShare = 16;
// Cycles of many streams, and the reads of their publishers, are at few times.
constexpr int64_t kCycleGridMs = runtime::TickWheel::grid_ms(INT64_MAX);

// gop_cache_max_frames is meant for a video and an audio track. Of more tracks so many more frames are kept: a new
// player or sink gets them at once.
size_t track_pairs(const media::TrackSet& tracks) { return std::max<size_t>(1, (tracks.tracks.size() + 1) / 2); }

}  // namespace

Publication::Publication(base::Ref<Stream> stream, PublicationOwner& owner)
    : stream_(std::move(stream)), owner_(&owner) {}

Publication::Publication(Publication&& other) noexcept
    : stream_(std::move(other.stream_)), owner_(std::exchange(other.owner_, nullptr)) {}

Publication& Publication::operator=(Publication&& other) noexcept {
    end();
    stream_ = std::move(other.stream_);
    owner_ = std::exchange(other.owner_, nullptr);
    return *this;
}

Publication::~Publication() { end(); }

bool Publication::is_active() const { return stream_ && stream_->owner_ == owner_; }

void Publication::publish(media::Frame frame) {
    if (is_active()) [[likely]]
        stream_->publish(std::move(frame));
    else if (stream_ && stream_->standby_)
        stream_->publish_standby(*owner_, std::move(frame));
}

void Publication::has_absolute_times() {
    if (is_active() && stream_->options_.atc_auto) stream_->timeline_.set_mode(TimeJitter::kOff);
    if (waits()) stream_->standby_->find(*owner_)->absolute_times = true;
}

void Publication::describe_tracks(std::vector<media::TrackName> names) {
    if (waits()) return stream_->describe_standby(*owner_, std::move(names));
    if (!is_active()) return;
    stream_->new_tracks().describe(std::move(names));
    stream_->notify_tracks();
}

void Publication::pause() {
    if (is_active()) stream_->forget_gop();
}

void Publication::end() {
    if (is_active())
        stream_->unpublish();
    else if (waits())
        stream_->remove_standby(*owner_);
    stream_.reset();
    owner_ = nullptr;
}

Stream::Stream(Registry* registry, StreamKey key, LiveOptions options)
    : registry_(registry),
      delivery_(registry ? registry->delivery_ : base::make_ref<Delivery>()),
      key_(std::move(key)),
      options_(options),
      tracks_(base::make_ref<media::TrackSet>()),
      gop_tracks_(tracks_),
      cycle_offset_ms_(runtime::event_ms() / kCycleGridMs * kCycleGridMs) {}

Stream::~Stream() {
    if (!registry_) return;
    registry_->update_memory(counted_memory_, 0);
    registry_->forget(*this);
}

base::Result<void> Stream::check_free(bool takeover, const StandbyOptions& standby) const {
    if (standby.enabled() && must_wait()) return check_standby(standby);
    if (owner_ && !takeover && owner_->publisher_alive()) {
        // Its address is not for the client that is refused: the id leads to it, in the log and the API.
        const std::string id = owner_->facts().session_id;
        const int64_t since_s = (runtime::now_ms() - health_.started_ms()) / 1000;
        return base::fail(base::Code::kBusy,
                          fmt::format("{} is being published already{}", key_.text(),
                                      id.empty() ? "" : fmt::format(", by {} for {} s", id, since_s)));
    }
    return {};
}

base::Result<Publication> Stream::acquire(PublicationOwner& owner, bool takeover) {
    const StandbyOptions standby = owner.standby();
    TRY(check_free(takeover, standby));
    const int priority = standby.enabled() ? standby_priority(owner.facts().params) : 0;
    if (standby.enabled() && must_wait()) {
        add_standby(owner, priority, runtime::now_ms());
        return Publication(base::Ref<Stream>(this), owner);
    }
    if (owner_) {
        PublicationOwner* revoked = owner_;
        unpublish();
        revoked->publication_revoked("another publisher took the name over", base::CloseReason::kPublisherReplaced);
    }
    priority_ = priority;
    begin(owner);
    return Publication(base::Ref<Stream>(this), owner);
}

void Stream::begin(PublicationOwner& owner) {
    owner_ = &owner;
    overdrawn_.clear();
    unpublished_since_ms_ = 0;
    const int64_t now_ms = runtime::now_ms();
    if (players_ == 0) idle_since_ms_ = now_ms;
    frames_before_ = counters_.video_frames + counters_.audio_frames;
    if (standby_) standby_->begin_active(now_ms);
    timeline_.set_mode(options_.atc ? TimeJitter::kOff : options_.time_jitter);
    timeline_.restart();
    health_.restart(now_ms);
    const uint32_t revision = tracks_->revision;
    tracks_ = base::make_ref<media::TrackSet>();
    tracks_->revision = revision;
    codecs_ = {};
    if (rtp_) rtp_->restart();
    for (FrameSink* sink : std::vector(sinks_)) sink->on_publish();  // a copy: it may unsubscribe
    changed_.pulse();
    if (registry_) registry_->notify_published(*this);
}

void Stream::revoke(std::string_view why, base::CloseReason reason) {
    PublicationOwner* revoked = owner_;
    if (!revoked) return;
    unpublish();
    revoked->publication_revoked(why, reason);
}

void Stream::ask_for_housekeeping() {
    if (registry_ && !std::exchange(asked_for_housekeeping_, true)) registry_->unsettled_.push_back(this);
}

void Stream::unpublish() {
    for (media::Frame frame; mix_.pop_any(frame);) deliver(frame);
    const int64_t now_ms = runtime::event_ms();
    owner_ = nullptr;
    unpublished_since_ms_ = now_ms;
    ask_for_housekeeping();
    video_flows_ = has_video_ = has_keyframe_ = false;
    forget_gop();
    for (FrameSink* sink : std::vector(sinks_)) sink->on_unpublish();
    if (rtp_) rtp_->notify_unpublished();
    changed_.pulse();
    if (registry_) registry_->notify_unpublished(*this);
    if (standby_) standby_->end_active(now_ms);
}

void Stream::clear_gop() {
    gop_.clear();
    gop_bytes_ = 0;
}

void Stream::forget_gop() {
    clear_gop();
    gop_ = {};  // its memory: none may come for long
    for (const auto& log : logs_) log->forget_starts();
}

// A part of an aggregate message, or of a body with other tracks, would keep the whole of it in memory.
void Stream::compact(base::Slice& payload) {
    if (payload.memory() <= 2 * payload.size() + kMaxBeside) [[likely]]
        return;
    payload = small_parts_.copy(payload);
}

void Stream::publish(media::Frame&& frame) {
    if (!overdrawn_.empty()) [[unlikely]]
        return;
    compact(frame.payload);
    const size_t bytes = frame.payload.size();
    unchecked_bytes_ += sizeof(frame) + bytes;
    bool is_companion = frame.sequence_header || frame.kind == media::Kind::kData;
    if (is_companion) {
        frame.dts = timeline_.companion_time(frame.dts);
    } else {
        const Timeline::Corrected corrected = timeline_.correct(frame.kind, frame.track, frame.dts);
        frame.dts = corrected.time;
        frame.discontinuity = corrected.discontinuity;
    }
    if (counters_.timeline_jumps != timeline_.jumps()) [[unlikely]] {
        counters_.timeline_jumps = timeline_.jumps();
        jumped_at_ms_ = runtime::event_ms();
    }
    if (!options_.mix_correct) {
        deliver(frame);
    } else {
        const int64_t now_ms = runtime::event_ms();
        mix_.push(std::move(frame), now_ms);
        ask_for_housekeeping();
        for (media::Frame next; mix_.pop(next, now_ms);) deliver(next);
    }
    if (unchecked_bytes_ >= std::min(kCheckedBytes, options_.memory_limit / kCheckedShare)) [[unlikely]]
        check_memory(bytes);
}

void Stream::deliver(const media::Frame& frame) {
    if (frame.sequence_header) {
        if (tracks_->changes_state(frame))
            change_tracks(frame);
        else if (options_.reduce_sequence_header)
            return;
    }
    update_flow(frame);
    keep_in_gop(frame);
    counters_.payload_bytes += frame.payload.size();
    if (!frame.sequence_header) for_each_sink([&](FrameSink& sink) { sink.on_frame(frame); });
    if (logs_.empty() || awaits_keyframe(frame)) return;
    for (const auto& log : logs_) log->append(frame, tracks_, runtime::event_us());
}

// Other holders rely on the old track set: a change makes a new one.
media::TrackSet& Stream::new_tracks() {
    tracks_ = base::make_ref<media::TrackSet>(*tracks_);
    return *tracks_;
}

void Stream::change_tracks(const media::Frame& frame) {
    new_tracks().update(frame);
    if (frame.kind != media::Kind::kData) codecs_.at(frame.kind, frame.track) = frame.codec;
    notify_tracks();
}

void Stream::notify_tracks() {
    for_each_sink([&](FrameSink& sink) { sink.on_tracks(tracks_); });
    changed_.pulse();
}

// One may unsubscribe within its call.
void Stream::for_each_sink(auto&& call) {
    for (size_t i = 0; i < sinks_.size();) {
        FrameSink* sink = sinks_[i];
        call(*sink);
        if (i < sinks_.size() && sinks_[i] == sink) ++i;
    }
}

void Stream::update_flow(const media::Frame& frame) {
    if (frame.kind == media::Kind::kData) return;
    if (codecs_.at(frame.kind, frame.track) != frame.codec) [[unlikely]]
        change_tracks(frame);
    if (frame.track != 0) return;
    const bool video = frame.kind == media::Kind::kVideo;
    if (!frame.sequence_header) {
        ++(video ? counters_.video_frames : counters_.audio_frames);
        has_video_ |= video;
        has_keyframe_ |= frame.keyframe;
        if (health_.record(frame)) [[unlikely]]
            health_.record_window_end(runtime::event_ms());
    }
    update_kind_flow(video, frame.dts);
}

void Stream::update_kind_flow(bool video, media::Time dts) {
    if (video) {
        if (!video_flows_) forget_gop();
        video_flows_ = true;
        last_video_dts_ = dts;
    } else if (video_flows_ && dts - last_video_dts_ > kVideoPause) {
        video_flows_ = false;
        forget_gop();
    }
}

void Stream::keep_in_gop(const media::Frame& frame) {
    const bool audio_only = !video_flows_, is_held = holds_gop();
    if (!options_.gop_cache || (audio_only && options_.audio_cache_ms == 0 && !is_held)) {
        if (!gop_.empty()) forget_gop();
        return;
    }
    const bool begins = frame.keyframe && !frame.sequence_header && frame.track == 0;
    if (begins && !(is_held && !gop_.empty())) {
        clear_gop();
        gop_too_long_ = false;
        gop_tracks_ = tracks_;
    } else if (gop_.empty()) {
        // A GOP begins with its keyframe; the headers before it are in gop_tracks_.
        if (gop_too_long_ || frame.sequence_header || !audio_only) return;
        gop_tracks_ = tracks_;
    }
    gop_bytes_ += sizeof(frame);
    if (gop_.empty() || !frame.payload.shares_memory(gop_.back().payload)) gop_bytes_ += frame.payload.memory();
    gop_.push_back(frame);
    while (audio_only && !is_held && gop_.back().dts - gop_.front().dts > media::from_ms(options_.audio_cache_ms)) {
        const base::Slice& first = gop_.front().payload;
        gop_bytes_ -= sizeof(frame);
        if (!first.shares_memory(gop_[1].payload)) gop_bytes_ -= first.memory();
        gop_.pop_front();
    }
    const auto max_frames = static_cast<size_t>(options_.gop_cache_max_frames);
    const bool too_many =
        max_frames > 0 && gop_.size() > max_frames && gop_.size() > max_frames * track_pairs(*tracks_);
    if (too_many || gop_bytes_ > options_.memory_limit / kGopShare) give_up_gop();
}

void Stream::hold_gop(int64_t until_ms) {
    if (!video_flows_ && !holds_gop()) clear_gop();
    held_until_ms_ = until_ms;
}

// Keeps no frames until the next keyframe; a stream without video drops only the frames kept so far.
void Stream::give_up_gop() {
    gop_too_long_ = video_flows_;
    forget_gop();
}

void Stream::subscribe(FrameSink& sink) {
    sinks_.push_back(&sink);
    if (published()) sink.on_publish();
    base::Ref<media::TrackSet> tracks = gop_.empty() ? tracks_ : gop_tracks_;
    if (!tracks->empty()) sink.on_tracks(tracks);
    for (const media::Frame& frame : gop_) {
        if (tracks->changes_state(frame)) {
            tracks = base::make_ref<media::TrackSet>(*tracks);
            tracks->update(frame);
            sink.on_tracks(tracks);
        }
        if (!frame.sequence_header) sink.on_frame(frame);
    }
    if (sinks_.size() == 1) notify_demand();
}

void Stream::unsubscribe(FrameSink& sink) {
    if (std::erase(sinks_, &sink) != 0 && sinks_.empty()) notify_demand();
}

LiveLog& Stream::log(const LogKey& key) {
    const auto known = std::ranges::find_if(logs_, [&](const auto& log) { return log->key() == key; });
    if (known != logs_.end()) return **known;
    LiveLog& log = *logs_.emplace_back(std::make_unique<LiveLog>(*this, key, key.make_encoder()));
    for (const media::Frame& frame : gop_) log.append(frame, gop_tracks_, runtime::event_us());
    if (logs_.size() == 1) notify_demand();
    return log;
}

void Stream::drop_log(const LiveLog& log) {
    std::erase_if(logs_, [&](const auto& one) { return one.get() == &log; });
    if (logs_.empty()) notify_demand();
}

RtpLane& Stream::rtp_lane() {
    if (!rtp_) rtp_ = std::make_unique<RtpLane>(*this);
    return *rtp_;
}

MessageLane& Stream::message_lane(const LogKey& key) {
    if (!messages_) messages_ = std::make_unique<MessageLane>(*this, key);
    CHECK(messages_->key() == key);
    return *messages_;
}

bool Stream::rtp_wanted() const { return rtp_ && rtp_->players() > 0; }

void Stream::watch_demand(DemandWatcher& watcher) { demand_watchers_.push_back(&watcher); }

void Stream::unwatch_demand(DemandWatcher& watcher) { std::erase(demand_watchers_, &watcher); }

void Stream::notify_demand() {
    for (DemandWatcher* watcher : std::vector(demand_watchers_)) watcher->demand_changed(*this);
}

StreamCounters Stream::figures() const {
    StreamCounters figures = counters_;
    if (!rtp_ || !rtp_->published_by_rtp()) return figures;
    const RtpLaneCounters& rtp = rtp_->counters();
    figures.video_frames = rtp.units[static_cast<size_t>(media::Kind::kVideo)];
    figures.audio_frames = rtp.units[static_cast<size_t>(media::Kind::kAudio)];
    figures.payload_bytes = rtp.bytes;
    return figures;
}

int64_t Stream::idle_since_ms() const {
    if (idle_since_ms_ == 0 || file_players_until_ms_ == 0) return idle_since_ms_;
    return has_unnamed_players() ? 0 : std::max(idle_since_ms_, file_players_until_ms_);
}

bool Stream::has_unnamed_players() const {
    return file_players_until_ms_ != 0 && file_players_until_ms_ > runtime::now_ms();
}

size_t Stream::viewer_count() const {
    size_t count = (rtp_ ? rtp_->players() : 0) + (messages_ ? messages_->sinks() : 0);
    for (const auto& log : logs_) count += log->audience().size();
    return count;
}

void Stream::for_each_log(const std::function<void(LiveLog&)>& visit) const {
    for (const auto& log : logs_) visit(*log);
}

void Stream::end_viewers() {
    base::Ref<Stream> keep(this);
    for (const auto& log : logs_) log->audience().end_all();
    if (rtp_) rtp_->end_players();
    if (messages_) messages_->end_players();
}

}  // namespace live
