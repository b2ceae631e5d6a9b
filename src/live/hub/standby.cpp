#include "live/hub/standby.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "protocol/http/url.h"

namespace live {

namespace {

constexpr int kMaxPriority = 100;
// Time between two calls of update_active() above which the loop itself stood still: no publisher is blamed for it.
constexpr int64_t kStallMs = 500;

constexpr std::string_view kReasonNames[kStandbyReasons] = {"busy", "left", "frozen", "priority"};

}  // namespace

std::string_view standby_reason_name(StandbyReason reason) { return kReasonNames[static_cast<size_t>(reason)]; }

int standby_priority(std::string_view params) {
    if (params.starts_with('?')) params.remove_prefix(1);
    const http::Parameters parameters = http::parse_query(params);
    const std::string_view text = http::find_parameter(parameters, "priority").value_or("");
    int priority = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
    const bool valid = error == std::errc() && end == text.data() + text.size();
    return valid && std::abs(priority) <= kMaxPriority ? priority : 0;
}

StandbyPublisher* StandbyQueue::find(const PublicationOwner& owner) {
    const auto found = std::ranges::find(publishers_, &owner, &StandbyPublisher::owner);
    return found == publishers_.end() ? nullptr : &*found;
}

void StandbyQueue::add(PublicationOwner& owner, int priority, int64_t now_ms) {
    StandbyPublisher& publisher = publishers_.emplace_back();
    publisher.owner = &owner;
    publisher.priority = priority;
    publisher.since_ms = now_ms;
}

std::optional<StandbyPublisher> StandbyQueue::take(const PublicationOwner& owner) {
    StandbyPublisher* found = find(owner);
    if (!found) return std::nullopt;
    StandbyPublisher taken = std::move(*found);
    publishers_.erase(publishers_.begin() + (found - publishers_.data()));
    return taken;
}

bool StandbyQueue::record_media(StandbyPublisher& publisher, media::Kind kind, bool keyframe, int64_t now_ms) const {
    if (!is_sending(publisher, now_ms)) publisher.sending_since_ms = now_ms;
    publisher.media_ms = now_ms;
    if (kind == media::Kind::kVideo) {
        publisher.video_ms = now_ms;
        if (keyframe) publisher.keyframe_ms = now_ms;
        return keyframe;
    }
    if (publisher.video_ms != 0) return now_ms - publisher.video_ms >= kVideoPauseMs;
    return now_ms - publisher.sending_since_ms >= kFirstVideoMs;
}

bool StandbyQueue::is_sending(const StandbyPublisher& publisher, int64_t now_ms) const {
    return publisher.media_ms != 0 && now_ms - publisher.media_ms < options_.timeout_ms;
}

StandbyPublisher* StandbyQueue::best(int64_t now_ms) {
    StandbyPublisher* best = nullptr;
    for (StandbyPublisher& publisher : publishers_)
        if (is_sending(publisher, now_ms) && (!best || publisher.priority > best->priority)) best = &publisher;
    return best;
}

std::optional<StandbyReason> StandbyQueue::may_take_over(const StandbyPublisher& publisher, int active_priority,
                                                         int64_t now_ms) {
    const bool is_best = best(now_ms) == &publisher;
    // The best has the first chance, and all of them after it.
    const auto may_since = [&](int64_t since_ms) { return is_best || now_ms - since_ms >= options_.timeout_ms; };
    if (vacant_ms_ != 0) return may_since(vacant_ms_) ? std::optional(StandbyReason::kLeft) : std::nullopt;
    if (frozen_ms_ != 0) return may_since(frozen_ms_) ? std::optional(StandbyReason::kFrozen) : std::nullopt;
    // One that sends with pauses would otherwise take over again and again.
    const bool is_steady = is_sending(publisher, now_ms) && now_ms - publisher.sending_since_ms >= options_.timeout_ms;
    if (options_.mode == StandbyMode::kPreempt && is_best && is_steady && publisher.priority > active_priority)
        return StandbyReason::kPriority;
    return std::nullopt;
}

StandbyPublisher* StandbyQueue::next(int active_priority, int64_t now_ms) {
    StandbyPublisher* publisher = best(now_ms);
    return publisher && may_take_over(*publisher, active_priority, now_ms) ? publisher : nullptr;
}

void StandbyQueue::begin_active(int64_t now_ms) {
    vacant_ms_ = frozen_ms_ = 0;
    changed_ms_ = updated_ms_ = now_ms;
}

void StandbyQueue::end_active(int64_t now_ms) {
    vacant_ms_ = now_ms;
    frozen_ms_ = 0;
}

bool StandbyQueue::update_active(const Active& active, int64_t now_ms) {
    const bool changed = active.has_video != last_active_.has_video ||
                         (active.has_video ? active.video_frames != last_active_.video_frames
                                           : active.audio_frames != last_active_.audio_frames);
    const int64_t elapsed_ms = now_ms - std::exchange(updated_ms_, now_ms);
    last_active_ = active;
    if (changed)
        changed_ms_ = now_ms;
    else if (elapsed_ms > kStallMs)
        changed_ms_ += elapsed_ms;
    if (active.alive && now_ms - changed_ms_ < options_.timeout_ms) {
        frozen_ms_ = 0;
        return false;
    }
    if (frozen_ms_ != 0) return false;
    frozen_ms_ = now_ms;
    return true;
}

size_t StandbyQueue::memory() const {
    size_t bytes = sizeof(*this) + publishers_.capacity() * sizeof(StandbyPublisher);
    for (const StandbyPublisher& publisher : publishers_) {
        bytes += publisher.headers->memory();
        for (const media::TrackName& name : publisher.names)
            bytes += sizeof(name) + name.language.capacity() + name.label.capacity();
    }
    return bytes;
}

}  // namespace live
