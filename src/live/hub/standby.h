#pragma once
// Standby publishers: those that wait while another one has the name of a stream (publish { standby }). StandbyQueue
// decides which of them takes over, and when: times and figures are handed in, and no frame is kept. Stream
// (stream_standby.cpp) feeds it and carries the decision out.
//
// The best is the one with the highest priority, then the one that has waited longest, of those that send. It takes
// over at its keyframe when the active publisher has left or is frozen. If it sends none for a while another one's
// keyframe is taken. Without video it takes over at an audio frame.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "live/hub/options.h"
#include "media/track_set.h"

namespace live {

class PublicationOwner;

// Why a publisher waits or takes over.
enum class StandbyReason : uint8_t {
    kBusy,      // another publisher had the name when it came
    kLeft,      // the active publisher ended
    kFrozen,    // the active publisher sent nothing for standby_timeout, or its connection is dead
    kPriority,  // it has a higher priority than the active publisher (preempt)
};
inline constexpr size_t kStandbyReasons = 4;
// In the API, hooks and metrics: "busy", "left", "frozen", "priority".
std::string_view standby_reason_name(StandbyReason reason);

// The priority in a publisher's URL, "?priority=2": -100 to 100. 0: there is none, or it is no such number.
int standby_priority(std::string_view params);

// Times are the loop's clock in ms; 0: not yet.
struct StandbyPublisher {
    PublicationOwner* owner = nullptr;
    int priority = 0;
    int64_t since_ms = 0;
    int64_t media_ms = 0;                                                    // the newest frame
    int64_t sending_since_ms = 0;                                            // the first frame after the last pause
    int64_t video_ms = 0;                                                    // the newest video frame
    int64_t keyframe_ms = 0;                                                 // the newest keyframe
    bool absolute_times = false;                                             // it has declared them
    bool too_large = false;                                                  // its headers exceed kMaxHeaderBytes
    base::Ref<media::TrackSet> headers = base::make_ref<media::TrackSet>();  // its metadata and sequence headers
    std::vector<media::TrackName> names{};
};

class StandbyQueue {
  public:
    // Limit of one publisher's headers. Ordinary ones are below 2 kB.
    static constexpr size_t kMaxHeaderBytes = 256 * 1024;
    // A publisher without video for this long takes over at an audio frame: at first, and after its last video frame.
    static constexpr int64_t kFirstVideoMs = 1'000, kVideoPauseMs = 5'000;

    explicit StandbyQueue(const StandbyOptions& options) : options_(options) {}

    // The newest options count.
    void set_options(const StandbyOptions& options) { options_ = options; }
    const StandbyOptions& options() const { return options_; }

    bool empty() const { return publishers_.empty(); }
    size_t size() const { return publishers_.size(); }
    // In the order of their waiting.
    const std::vector<StandbyPublisher>& publishers() const { return publishers_; }
    // Null: it does not wait here. Valid until the next add() or take().
    StandbyPublisher* find(const PublicationOwner& owner);
    void add(PublicationOwner& owner, int priority, int64_t now_ms);
    std::optional<StandbyPublisher> take(const PublicationOwner& owner);

    // A frame or packet of a waiting publisher. True: a stream may begin with it.
    bool record_media(StandbyPublisher& publisher, media::Kind kind, bool keyframe, int64_t now_ms) const;
    bool is_sending(const StandbyPublisher& publisher, int64_t now_ms) const;
    // Null: no waiting publisher sends.
    StandbyPublisher* best(int64_t now_ms);
    // The reason for which the publisher may take over now; nothing: it may not.
    std::optional<StandbyReason> may_take_over(const StandbyPublisher& publisher, int active_priority, int64_t now_ms);
    // The best, where its next keyframe will be taken; null: none takes over now.
    StandbyPublisher* next(int active_priority, int64_t now_ms);

    // The active publisher began, or ended.
    void begin_active(int64_t now_ms);
    void end_active(int64_t now_ms);
    struct Active {
        bool alive = true;
        bool has_video = false;
        uint64_t video_frames = 0;  // of the stream so far
        uint64_t audio_frames = 0;
    };
    // To be called every 100 ms or so, and before may_take_over(). True: it has just become frozen.
    bool update_active(const Active& active, int64_t now_ms);
    bool active_is_frozen() const { return frozen_ms_ != 0; }

    // Bytes of allocations.
    size_t memory() const;

  private:
    StandbyOptions options_;
    std::vector<StandbyPublisher> publishers_;
    int64_t vacant_ms_ = 0;   // since when there is no active publisher; 0: there is one
    int64_t frozen_ms_ = 0;   // since when it is frozen
    int64_t changed_ms_ = 0;  // when it sent last
    int64_t updated_ms_ = 0;  // of the last update_active()
    Active last_active_;
};

}  // namespace live
