#include "service/rtc/play/short_link.h"

#include <algorithm>
#include <utility>

namespace service::rtc {

// Its first packets at least; what followed them was sent in order.
bool ShortLink::is_keyframe_sent(const live::RtpRing& ring) const {
    if (keyframe_ < ring.begin()) return true;
    const live::RtpPacket& first = ring.at(keyframe_);
    for (uint64_t i = position_; i < ring.end(); ++i)
        if (const live::RtpPacket& packet = ring.at(i); packet.track == first.track)
            return packet.timestamp != first.timestamp;
    return true;
}

RtpCursor::Change ShortLink::wait_for_keyframe(const live::RtpRing& ring) {
    position_ = ring.end();
    return std::exchange(waits_, true) ? RtpCursor::Change{}
                                       : RtpCursor::Change{.video = RtpCursor::Change::Video::kStops};
}

RtpCursor::Change ShortLink::update(const live::RtpRing& ring, uint32_t kbps, int64_t now_us) {
    using Change = RtpCursor::Change;
    const auto newest = ring.newest_keyframe();
    if (newest && *newest != keyframe_ && *newest >= position_) {
        const bool fits = waits_ || keyframe_ == UINT64_MAX || is_keyframe_sent(ring);
        if (!fits) audio_alone_kbps_ = kbps;
        keyframe_ = *newest;
        if (audio_alone() && kbps < audio_alone_kbps_ + audio_alone_kbps_ / 7) {
            const bool stops = !std::exchange(waits_, true);
            return stops ? Change{.video = Change::Video::kStops, .has_jumped = true} : Change{};
        }
        audio_alone_kbps_ = 0;
        const bool has_jumped = waits_ || position_ < *newest;
        position_ = *newest;
        if (!std::exchange(waits_, false) && !has_jumped) return {};
        return {.video = Change::Video::kBegins, .first_sequence = first_sequence(ring, *newest), .has_jumped = true};
    }
    position_ = std::max(position_, waits_ ? position_ : ring.begin());
    if (waits_ || position_ >= ring.end() || now_us - ring.at(position_).arrival_us < kMaxLateUs) return {};
    waits_ = true;
    return {.video = Change::Video::kStops, .has_jumped = true, .wants_keyframe = true};
}

}  // namespace service::rtc
