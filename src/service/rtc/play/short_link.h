#pragma once
// ShortLink: what a viewer is sent whose link takes less than the stream: audio at once, and of the video the head of
// each GOP, no faster than the estimate. It has the position of the video in the lane's ring, beside that of the audio
// (rtp_cursor.h). What is too late for its GOP is skipped: the video goes on at the next keyframe. Pure.

#include <cstdint>

#include "live/rtp/rtp_ring.h"
#include "service/rtc/play/rtp_cursor.h"
#include "service/rtc/play/send_credit.h"

namespace service::rtc {

class ShortLink : public SendCredit {
  public:
    // Video that is later than that is skipped.
    static constexpr int64_t kMaxLateUs = 2'000'000;

    // The video goes on at that position, or waits for a keyframe.
    ShortLink(uint64_t position, bool waits, int64_t now_us) : SendCredit(now_us), position_(position), waits_(waits) {}

    // The video goes on at the next keyframe that arrives.
    RtpCursor::Change wait_for_keyframe(const live::RtpRing& ring);
    // Where the video goes on, before packets are sent.
    RtpCursor::Change update(const live::RtpRing& ring, uint32_t kbps, int64_t now_us);
    // Whether there is a packet at position() that may be sent now.
    bool has_next(const live::RtpRing& ring) const { return !waits_ && may_send() && position_ < ring.end(); }
    uint64_t position() const { return position_; }
    void advance() { ++position_; }
    // Nothing waits to be sent.
    bool has_caught_up(const live::RtpRing& ring) const { return !waits_ && position_ >= ring.end(); }
    // Not even the keyframes fit.
    bool audio_alone() const { return audio_alone_kbps_ > 0; }

  private:
    bool is_keyframe_sent(const live::RtpRing& ring) const;

    uint64_t position_;
    uint64_t keyframe_ = UINT64_MAX;  // the newest that was seen; that: none was
    uint32_t audio_alone_kbps_ = 0;   // the estimate at which a keyframe did not fit
    bool waits_;
};

}  // namespace service::rtc
