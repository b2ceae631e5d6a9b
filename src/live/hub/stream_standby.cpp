// The waiting publishers of a Stream: what StandbyQueue decides is carried out.

#include <utility>

#include "base/log.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/limited_log.h"

namespace live {

namespace {

constexpr int64_t kKeyframeRequestMs = 1'000;

}  // namespace

bool Publication::stream_waits() const { return stream_->is_standby(*owner_); }

bool Publication::offer(media::Kind kind, bool keyframe) {
    return is_active() || (waits() && stream_->offer_standby(*owner_, kind, keyframe));
}

// A newcomer waits behind others also where none of them has taken over yet.
bool Stream::must_wait() const { return (owner_ && owner_->publisher_alive()) || (standby_ && !standby_->empty()); }

base::Result<void> Stream::check_standby(const StandbyOptions& options) const {
    const size_t waiting = standby_ ? standby_->size() : 0;
    const bool server_is_full = registry_ && registry_->standbys_ >= Registry::kMaxStandbys;
    if (waiting < options.max && !server_is_full) return {};
    if (registry_) ++registry_->standby_counters_.refused;
    if (waiting >= options.max)
        return base::fail(base::Code::kBusy, fmt::format("{} is being published already, and {} publishers wait "
                                                         "(publish.standby_max)",
                                                         key_.text(), waiting));
    return base::fail(base::Code::kBusy, fmt::format("{} is being published already, and {} publishers of all streams "
                                                     "wait",
                                                     key_.text(), registry_->standbys_));
}

bool Stream::awaits_standby(int64_t now_ms) const { return !owner_ && standby_ && standby_->best(now_ms); }

void Stream::add_standby(PublicationOwner& owner, int priority, int64_t now_ms) {
    if (!standby_) {
        standby_ = std::make_unique<StandbyQueue>(owner.standby());
        ask_for_housekeeping();
        if (owner_)
            standby_->begin_active(now_ms);
        else
            standby_->end_active(now_ms);
    }
    standby_->set_options(owner.standby());
    standby_->add(owner, priority, now_ms);
    if (registry_) ++registry_->standbys_;
    notify_standby(owner, priority, false, StandbyReason::kBusy, owner_ ? owner_->facts().session_id : "");
}

void Stream::remove_standby(PublicationOwner& owner) {
    if (!standby_->take(owner)) return;
    if (registry_) --registry_->standbys_;
    if (standby_->empty()) standby_.reset();
}

void Stream::publish_standby(PublicationOwner& owner, media::Frame&& frame) {
    if (!is_standby(owner)) return;  // revoked
    if (frame.sequence_header) return keep_standby_header(owner, frame);
    if (frame.kind == media::Kind::kData || frame.track != 0) return;
    if (offer_standby(owner, frame.kind, frame.keyframe)) publish(std::move(frame));
}

void Stream::keep_standby_header(PublicationOwner& owner, const media::Frame& frame) {
    StandbyPublisher& publisher = *standby_->find(owner);
    if (publisher.too_large || !publisher.headers->changes_state(frame)) return;
    media::Frame header = frame;
    // It would keep the memory of what was read with it.
    header.payload = base::Slice::copy(frame.payload);
    publisher.headers->update(header);
    check_standby_memory(owner);
}

void Stream::describe_standby(PublicationOwner& owner, std::vector<media::TrackName> names) {
    StandbyPublisher& publisher = *standby_->find(owner);
    if (publisher.too_large) return;
    publisher.names = std::move(names);
    check_standby_memory(owner);
}

// It is closed soon: its caller may rely on it now.
void Stream::check_standby_memory(PublicationOwner& owner) {
    StandbyPublisher& publisher = *standby_->find(owner);
    size_t bytes = publisher.headers->memory();
    for (const media::TrackName& name : publisher.names) bytes += name.language.size() + name.label.size();
    if (bytes <= StandbyQueue::kMaxHeaderBytes) return;
    publisher.too_large = true;
    publisher.names.clear();
    publisher.headers = base::make_ref<media::TrackSet>();
}

bool Stream::offer_standby(PublicationOwner& owner, media::Kind kind, bool keyframe) {
    StandbyPublisher& publisher = *standby_->find(owner);
    const int64_t now_ms = runtime::now_ms();
    if (!standby_->record_media(publisher, kind, keyframe, now_ms) || publisher.too_large) return false;
    update_active(now_ms);
    const auto reason = standby_->may_take_over(publisher, priority_, now_ms);
    if (reason) switch_to(owner, *reason, now_ms);
    return reason.has_value();
}

// What an encoder has sent once, it does not send again when it takes over the next time. A publisher of RTP has no
// headers: they are made of its packets.
void Stream::keep_standby_tracks(PublicationOwner& owner) {
    if (owner.publishes_rtp()) return;
    StandbyPublisher& publisher = *standby_->find(owner);
    for (const media::Frame* header : tracks_->headers()) publisher.headers->update(*header);
    for (const media::Track& track : tracks_->tracks)
        if (!track.language.empty() || !track.label.empty())
            publisher.names.push_back({track.kind, track.index, track.language, track.label});
    publisher.absolute_times = !options_.atc && timeline_.mode() != options_.time_jitter;
    check_standby_memory(owner);
}

// The publisher that had the name waits, where it can: it may be the next one again.
void Stream::switch_to(PublicationOwner& owner, StandbyReason reason, int64_t now_ms) {
    base::Ref<Stream> keep(this);
    const StandbyPublisher next = *standby_->take(owner);
    if (registry_) {
        --registry_->standbys_;
        ++registry_->standby_counters_.takeovers[static_cast<size_t>(reason)];
    }
    std::string before, new_id = owner.facts().session_id;
    if (PublicationOwner* former = owner_) {
        before = former->facts().session_id;
        unpublish();
        if (former->standby().enabled()) {
            standby_->add(*former, priority_, now_ms);
            if (registry_) ++registry_->standbys_;
            keep_standby_tracks(*former);
            former->publication_waits();
            notify_standby(*former, priority_, false, reason, new_id);
        } else {
            former->publication_revoked("a standby publisher took the name over",
                                        base::CloseReason::kPublisherReplaced);
        }
    }
    base::log::trace("{}: the standby publisher {} (priority {}) takes over after {} ms of waiting: {}", key_.text(),
                     new_id, next.priority, now_ms - next.since_ms, standby_reason_name(reason));
    priority_ = next.priority;
    begin(owner);
    if (standby_->empty()) standby_.reset();
    owner.publication_activated();
    if (next.absolute_times && options_.atc_auto) timeline_.set_mode(TimeJitter::kOff);
    if (!next.names.empty()) new_tracks().describe(next.names);
    // Not after the track's first frame, which may be older than the keyframe that begins.
    for (const media::Frame* kept : next.headers->headers()) {
        media::Frame header = *kept;
        const bool is_data = header.kind == media::Kind::kData;
        header.dts = is_data ? timeline_.last() : timeline_.last(header.kind, header.track);
        deliver(header);
    }
    notify_standby(owner, next.priority, true, reason, before);
}

void Stream::update_active(int64_t now_ms) {
    if (!owner_) return;
    const StreamCounters sent = figures();
    const bool has_video = has_video_ || (rtp_ && rtp_->published_by_rtp() && rtp_->track_of(media::Kind::kVideo) >= 0);
    const bool frozen =
        standby_->update_active({owner_->publisher_alive(), has_video, sent.video_frames, sent.audio_frames}, now_ms);
    if (frozen)
        runtime::warn_limited("{}: its publisher {} sends no {} for {} ms (standby_timeout), {} publishers wait",
                              key_.text(), owner_->facts().session_id, has_video ? "video" : "audio",
                              standby_->options().timeout_ms, standby_->size());
}

void Stream::tick_standby(int64_t now_ms) {
    update_active(now_ms);
    std::vector<PublicationOwner*> ended;
    for (const StandbyPublisher& publisher : standby_->publishers())
        if (publisher.too_large) ended.push_back(publisher.owner);
    for (PublicationOwner* owner : ended) {
        if (!is_standby(*owner)) continue;
        remove_standby(*owner);
        owner->publication_revoked(fmt::format("the metadata and sequence headers of a standby publisher exceed {} kB",
                                               StandbyQueue::kMaxHeaderBytes >> 10),
                                   base::CloseReason::kFlood);
    }
    if (!standby_) return;
    const StandbyPublisher* next = standby_->next(priority_, now_ms);
    if (!next || now_ms - keyframe_wanted_ms_ < kKeyframeRequestMs) return;
    keyframe_wanted_ms_ = now_ms;
    next->owner->standby_keyframe_wanted();
}

void Stream::notify_standby(const PublicationOwner& owner, int priority, bool is_active, StandbyReason reason,
                            std::string other) {
    if (!registry_) return;
    registry_->notify_standby(*this, {.publisher = owner.facts(),
                                      .priority = priority,
                                      .is_active = is_active,
                                      .reason = reason,
                                      .other = std::move(other)});
}

}  // namespace live
