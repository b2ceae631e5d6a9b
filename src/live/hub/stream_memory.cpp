// The memory of a Stream, and what it releases at its limit.

#include "live/hub/stream_memory.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "live/fanout/live_log.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "live/messages/message_lane.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/limited_log.h"

namespace live {

namespace {

// The share of the limit for copies of packets for viewers.
constexpr size_t kViewersShare = 4;
// What a log keeps for viewers that are not behind.
constexpr uint64_t kNewestBytes = 512 * 1024;

size_t megabytes(size_t bytes) { return bytes >> 20; }

}  // namespace

StreamMemory Stream::memory() const {
    StreamMemory held;
    held.gop = gop_bytes_ + (gop_.memory() - gop_.size() * sizeof(media::Frame)) + tracks_->memory() +
               (gop_tracks_ == tracks_ ? 0 : gop_tracks_->memory());
    held.mix_queue = mix_.memory();
    for (const auto& log : logs_) held.logs += log->memory();
    held.viewers = viewer_bytes_;
    if (rtp_) held.rtp = rtp_->memory();
    for (const FrameSink* sink : sinks_) held.outputs += sink->memory();
    if (standby_) held.gop += standby_->memory();
    if (owner_) held.input = owner_->unfinished_input();
    return held;
}

void Stream::count_memory() {
    const size_t before = counted_memory_;
    counted_memory_ = memory().total();
    if (registry_) registry_->update_memory(before, counted_memory_);
}

void Stream::check_memory(size_t frame_bytes) {
    unchecked_bytes_ = 0;
    count_memory();
    const size_t limit = options_.memory_limit;
    if (counted_memory_ <= limit) {
        if (memory_short_ && counted_memory_ <= limit / 2) {
            memory_short_ = false;
            base::log::trace("{}: holds {} MB of memory again", key_.text(), megabytes(counted_memory_));
        }
        return;
    }
    if (!memory_short_)
        runtime::warn_limited(
            "{}: holds {} MB of memory, stream_memory is {} MB: slow viewers jump, then the GOP cache goes",
            key_.text(), megabytes(counted_memory_), megabytes(limit));
    memory_short_ = true;
    release_memory(limit / 4 * 3);
    if (counted_memory_ > limit || frame_bytes > limit)
        overdraw(fmt::format("{} MB of memory are not enough for what it sends (stream_memory)", megabytes(limit)));
}

// The order is that of what is lost: time for viewers that are behind, nothing, the order of frames, a quick start for
// new viewers, time for all viewers.
void Stream::release_memory(size_t target) {
    base::Ref<Stream> keep(this);
    ++counters_.memory_releases;
    const auto enough = [&] {
        count_memory();
        return counted_memory_ <= target;
    };
    // A viewer that is not behind has the newest bytes still to send.
    const uint64_t newest = std::max<uint64_t>(target / 2 / std::max<size_t>(1, logs_.size()), kNewestBytes);
    for (const auto& log : logs_)
        log->release_before(std::min(log->begin_offset(), log->head() - std::min(log->head(), newest)));
    if (enough()) return;
    for (FrameSink* sink : std::vector(sinks_)) sink->release_memory();
    if (enough()) return;
    for (media::Frame frame; mix_.pop_any(frame);) deliver(frame);
    give_up_gop();
    for (const auto& log : logs_) log->release_before(log->head() - std::min(log->head(), newest));
    (void)enough();
}

void Stream::overdraw(std::string why) {
    if (!owner_ || !overdrawn_.empty()) return;
    runtime::warn_limited("{}: its publisher is ended: {}", key_.text(), why);
    overdrawn_ = std::move(why);
    ask_for_housekeeping();
}

void Stream::abort_viewers(std::string_view why) {
    base::Ref<Stream> keep(this);
    for (const auto& log : logs_) log->audience().abort_all(why, base::CloseReason::kStreamEnded);
    if (messages_) messages_->end_players();
    count_memory();
}

bool Stream::keep_for_viewer(size_t bytes) {
    if (viewer_bytes_ + bytes > options_.memory_limit / kViewersShare) return false;
    viewer_bytes_ += bytes;
    return true;
}

void Stream::tick(int64_t now_ms) {
    base::Ref<Stream> keep(this);
    for (media::Frame frame; mix_.pop(frame, now_ms);) deliver(frame);
    if (standby_) tick_standby(now_ms);
    if (overdrawn_.empty() || !owner_) return;
    const std::string why = std::exchange(overdrawn_, {});
    PublicationOwner* revoked = owner_;
    unpublish();
    revoked->publication_revoked(why, base::CloseReason::kFlood);
}

}  // namespace live
