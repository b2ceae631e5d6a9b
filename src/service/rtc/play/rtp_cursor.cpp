#include "service/rtc/play/rtp_cursor.h"

#include <utility>

namespace service::rtc {

namespace {

// Bytes; more than `most`: so many at least.
size_t backlog_from(const live::RtpRing& ring, uint64_t keyframe, size_t most) {
    size_t bytes = 0;
    for (uint64_t i = keyframe; i < ring.end() && bytes <= most; ++i) bytes += ring.at(i).payload.size();
    return bytes;
}

}  // namespace

uint64_t first_sequence(const live::RtpRing& ring, uint64_t keyframe) {
    const live::RtpPacket& first = ring.at(keyframe);
    uint64_t lowest = first.sequence;
    for (uint64_t i = keyframe; i < std::min(ring.end(), keyframe + RtpCursor::kMaxBehind); ++i) {
        const live::RtpPacket& packet = ring.at(i);
        if (packet.track == first.track && packet.timestamp == first.timestamp)
            lowest = std::min(lowest, packet.sequence);
    }
    return lowest;
}

void RtpCursor::restart(const live::RtpRing& ring, bool has_video) {
    *this = {};
    position_ = ring.end();
    has_video_ = waits_for_keyframe_ = has_video;
}

RtpCursor::Change RtpCursor::wait_for_keyframe(const live::RtpRing& ring) {
    waits_for_keyframe_ = wanted_start_ = true;
    keyframe_from_ = ring.end();
    return {.video = Change::Video::kStops};
}

RtpCursor::Change RtpCursor::jump(const live::RtpRing& ring) {
    if (!has_video_ || waits_for_keyframe_) return {};
    Change change = wait_for_keyframe(ring);
    change.has_jumped = change.wants_keyframe = true;
    return change;
}

RtpCursor::Change RtpCursor::skip_stale(const live::RtpRing& ring, int64_t now_us) {
    position_ = std::max(position_, ring.begin());
    if (position_ >= ring.end() || now_us - ring.at(position_).arrival_us < kMaxCongestedUs) return {};
    position_ = ring.end();
    return jump(ring);
}

RtpCursor::Change RtpCursor::update(const live::RtpRing& ring, size_t max_backlog) {
    if (position_ < ring.begin()) {
        position_ = ring.begin();
        if (Change change = jump(ring); change.has_jumped) return change;
    }
    if (!waits_for_keyframe_ && !catching_up_) return {};
    const auto keyframe = ring.newest_keyframe();
    if (!waits_for_keyframe_) {
        if (!keyframe) return {};
        // The frames before a keyframe that is far ahead would only be decoded and discarded.
        if (*keyframe < position_ + kMaxBehind) return {};
        Change change = begin_at(ring, *keyframe);
        change.has_jumped = true;
        return change;
    }
    if (keyframe && *keyframe >= keyframe_from_ && backlog_from(ring, *keyframe, max_backlog) <= max_backlog)
        return begin_at(ring, *keyframe);
    return {.wants_start = !std::exchange(wanted_start_, true)};
}

void RtpCursor::go_on(const live::RtpRing& ring) {
    const bool has_video = has_video_;
    *this = {};
    position_ = ring.end();
    has_video_ = has_video;
}

void RtpCursor::stop_video() {
    has_video_ = waits_for_keyframe_ = catching_up_ = false;
    video_from_ = UINT64_MAX;
}

void RtpCursor::resume_video(const live::RtpRing& ring) {
    has_video_ = true;
    (void)wait_for_keyframe(ring);
}

RtpCursor::Change RtpCursor::begin_at(const live::RtpRing& ring, uint64_t keyframe) {
    // Old audio is of no use.
    audio_from_ = std::max(audio_from_, position_);
    video_from_ = keyframe;
    position_ = std::min(position_, keyframe);
    waits_for_keyframe_ = false;
    catching_up_ = true;
    return {.video = Change::Video::kBegins, .first_sequence = first_sequence(ring, keyframe)};
}

}  // namespace service::rtc
