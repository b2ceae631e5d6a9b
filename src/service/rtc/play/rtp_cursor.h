#pragma once
// RtpCursor: the position of a WebRTC player in a lane's ring: what it may be sent next, where its video begins, where
// it goes on after a jump, and when it is too slow. The video begins at a keyframe; audio goes on wherever the player
// is. Pure: it reads the ring, and times are passed in.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "live/rtp/rtp_ring.h"

namespace service::rtc {

// The lowest sequence number of a keyframe, whose packets may have been reordered. keyframe: its first position.
uint64_t first_sequence(const live::RtpRing& ring, uint64_t keyframe);

class RtpCursor {
  public:
    // While it sends a backlog, it skips to a newer keyframe that is at least this many packets ahead.
    static constexpr uint64_t kMaxBehind = 64;
    // A player whose connection has been full for this long is too slow.
    static constexpr int64_t kMaxCongestedUs = 1'000'000;

    // What follows from a step, for the caller to do.
    struct Change {
        enum class Video : uint8_t { kGoesOn, kStops, kBegins };
        Video video = Video::kGoesOn;
        uint64_t first_sequence = 0;  // of the video, where it begins
        bool has_jumped = false;      // packets are skipped
        bool wants_keyframe = false;
        bool wants_start = false;  // it has none to begin at, or would get too much
        friend bool operator==(const Change&, const Change&) = default;
    };

    uint64_t position() const { return position_; }
    bool waits_for_keyframe() const { return waits_for_keyframe_; }
    bool is_wanted(media::Kind kind) const {
        return position_ >= (kind == media::Kind::kVideo ? video_from_ : audio_from_);
    }
    void advance() { ++position_; }
    // Earlier positions are gone.
    void reach(uint64_t position) { position_ = std::max(position_, position); }

    // Other tracks: it gets what comes from now on.
    void restart(const live::RtpRing& ring, bool has_video);
    // The video goes on at the next keyframe that arrives.
    Change wait_for_keyframe(const live::RtpRing& ring);
    // The same, unless it waits for one: packets are skipped, or were lost.
    Change jump(const live::RtpRing& ring);
    // Nothing can be sent now. Packets that have waited too long are skipped.
    Change skip_stale(const live::RtpRing& ring, int64_t now_us);
    // Whether update() would change nothing.
    bool is_steady(const live::RtpRing& ring) const {
        return position_ >= ring.begin() && !waits_for_keyframe_ && !catching_up_;
    }
    // Before packets are sent. A player that begins is not sent a GOP of more bytes than max_backlog: it wants a start,
    // once, and waits for a keyframe or a larger max_backlog.
    Change update(const live::RtpRing& ring, size_t max_backlog);
    // Everything before the ring's end was sent, by other means.
    void go_on(const live::RtpRing& ring);
    // The video is not sent any more; audio goes on where it is.
    void stop_video();
    // It is sent again, from the next keyframe that arrives on.
    void resume_video(const live::RtpRing& ring);
    bool has_video() const { return has_video_; }
    // Everything was sent.
    void catch_up() { catching_up_ = false; }

  private:
    Change begin_at(const live::RtpRing& ring, uint64_t keyframe);

    uint64_t position_ = 0;                     // of the next packet
    uint64_t video_from_ = 0, audio_from_ = 0;  // earlier positions are not sent
    uint64_t keyframe_from_ = 0;                // a keyframe before this position is not used to begin
    bool has_video_ = false;
    bool waits_for_keyframe_ = false;
    bool wanted_start_ = false;
    bool catching_up_ = false;  // from the position of a keyframe on
};

}  // namespace service::rtc
