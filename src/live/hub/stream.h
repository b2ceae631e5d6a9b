#pragma once
// Stream: the hub atom. One publisher at most, frames in, frames out to sinks and to the logs that have viewers. It
// corrects the timeline once, keeps the current GOP as references and the tracks as they are. With no subscriber a
// frame costs its parse and nothing else. Single-threaded, never yields. Held by Ref: by its publication and by its
// viewers.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/close_reason.h"
#include "base/ref.h"
#include "base/result.h"
#include "base/stream_key.h"
#include "live/fanout/fanout.h"
#include "live/fanout/wire_encoder.h"
#include "live/hub/health.h"
#include "live/hub/mix_queue.h"
#include "live/hub/options.h"
#include "live/hub/stream_memory.h"
#include "live/hub/timeline.h"
#include "media/track_set.h"

namespace live {

class LiveLog;
class Registry;
class RtpLane;
class Stream;

using base::StreamKey;

// What a publisher told of itself: for who passes its stream on, and for those who are told of it.
struct PublisherFacts {
    std::string session_id{};
    std::string ip{};
    std::string tc_url{};
    std::string page_url{};
    std::string params{};        // "?k=v", or empty
    std::string forward_path{};  // the servers that it came through (Registry::instance()), "a,b"; empty: none
};

// Who publishes. Outlives its Publication.
class PublicationOwner {
  public:
    virtual PublisherFacts facts() const { return {}; }
    // False when the connection is dead already, though its coroutine has not noticed: its name is then given away.
    virtual bool publisher_alive() const = 0;
    // True: it writes the stream's RTP lane itself, and frames, if there are any, are made of that.
    virtual bool publishes_rtp() const { return false; }
    // Another publisher has the name now (kPublisherReplaced), or the stream holds more memory than it may (kFlood).
    // The publication is void; end soon.
    virtual void publication_revoked(std::string_view why, base::CloseReason reason) = 0;

  protected:
    ~PublicationOwner() = default;
};

// The right to publish a stream. Destroying it ends the publishing; viewers wait rejoin_timeout for the next one.
class Publication {
  public:
    Publication() = default;
    Publication(Publication&& other) noexcept;
    Publication& operator=(Publication&& other) noexcept;
    ~Publication();

    explicit operator bool() const { return static_cast<bool>(stream_); }
    // frame.dts is the publisher's time, which does not wrap. Dropped silently after the publication was revoked.
    void publish(media::Frame frame);
    // The publisher says so: they are kept from the next frame on where atc_auto allows it.
    void has_absolute_times();
    // Languages and labels, as far as the publisher tells them.
    void describe_tracks(std::vector<media::TrackName> names);
    // For a while no frames come: nobody may begin with those that are kept.
    void pause();
    void end();
    Stream* stream() const { return stream_.get(); }

  private:
    friend class Stream;
    Publication(base::Ref<Stream> stream, PublicationOwner& owner);
    bool in_force() const;
    base::Ref<Stream> stream_;
    PublicationOwner* owner_ = nullptr;
};

// Whoever wants frames: recorders, segmenters, converters. Called in order of publishing; must not yield.
class FrameSink {
  public:
    // Which tracks there are from the next frame on, and the metadata: told before a track's first frame, and whenever
    // a codec, a header or the metadata changes. What changed has another revision.
    virtual void on_tracks(const base::Ref<media::TrackSet>& tracks) = 0;
    // An audio or video frame, or a data message; no sequence header. Frame::discontinuity says where times jumped.
    virtual void on_frame(const media::Frame& frame) = 0;
    virtual void on_publish() {}
    virtual void on_unpublish() {}
    // What it keeps of the frames, and of what it makes of them, in bytes of allocations.
    virtual size_t memory() const { return 0; }
    // The stream holds more than it may: what can be let go of, or need not wait, goes.
    virtual void release_memory() {}

  protected:
    ~FrameSink() = default;
};

// Whoever makes something for others only while they want it: the bridges between frames and RTP. Must not yield.
class DemandWatcher {
  public:
    // What frames_wanted() or rtp_wanted() says may have changed.
    virtual void demand_changed(Stream& stream) = 0;

  protected:
    ~DemandWatcher() = default;
};

struct StreamCounters {
    uint64_t audio_frames = 0;
    uint64_t video_frames = 0;
    uint64_t payload_bytes = 0;
    uint64_t timeline_jumps = 0;
    uint64_t viewer_jumps = 0;     // times a viewer was too far behind
    uint64_t jumped_viewers = 0;   // viewers to which that happened
    uint64_t skipped_bytes = 0;    // that they missed by it
    uint64_t memory_releases = 0;  // times its memory reached a limit
};

class Stream : public base::RefCounted<Stream> {
  public:
    Stream(Registry* registry, StreamKey key, LiveOptions options);
    ~Stream();

    const StreamKey& key() const { return key_; }
    // Shared with the other streams of its registry.
    Fanout& fanout() { return *fanout_; }
    const LiveOptions& options() const { return options_; }
    void set_options(const LiveOptions& options) { options_ = options; }

    // kBusy while another lives, unless takeover.
    base::Result<void> check_free(bool takeover) const;
    // The same, and takes it.
    base::Result<Publication> acquire(PublicationOwner& owner, bool takeover);
    bool published() const { return owner_ != nullptr; }
    const PublicationOwner* publisher() const { return owner_; }  // null: nobody
    int64_t unpublished_since_ms() const {
        return unpublished_since_ms_;
    }  // monotonic; 0 while published or never published

    void subscribe(FrameSink& sink);  // gets the tracks and the GOP at once
    void unsubscribe(FrameSink& sink);

    const base::Ref<media::TrackSet>& tracks() const { return tracks_; }
    // Whether video frames have come lately.
    bool video_flows() const { return video_flows_; }
    // Where a viewer may begin: at keyframes, or at any audio frame of a stream without video. So too before a
    // publication's first video frame: who waits for it misses nothing.
    bool begins_at_keyframes() const { return video_flows_ && any_video_; }
    // The frames since the newest keyframe, or the last audio_cache_ms of a stream without video.
    const std::deque<media::Frame>& gop() const { return gop_; }
    media::Time last_dts() const { return timeline_.last(); }
    size_t viewer_count() const;
    int64_t idle_since_ms() const {
        return idle_since_ms_;
    }  // monotonic: when the last viewer left or publishing began; 0 while there are any
    const StreamCounters& counters() const { return counters_; }
    StreamCounters& counters() { return counters_; }
    // For who looks: of a stream that is published by RTP, what came as RTP, whether it becomes frames or not.
    StreamCounters figures() const;
    const Health& health() const { return health_; }
    int64_t jumped_at_ms() const { return jumped_at_ms_; }  // monotonic: when its times last jumped; 0: never
    bool gop_too_long() const { return gop_too_long_; }

    StreamMemory memory() const;
    // Looks how much it holds, and lets go of what is over the limit. It does so by itself as frames come.
    void check_memory();
    // Lets go of what is missed least, until it holds no more than so many bytes, as far as that can be.
    void release_memory(size_t target);
    // What the last look found.
    size_t counted_memory() const { return counted_memory_; }
    // Its publisher takes more than it may: what it sends is dropped from now on, and it is closed soon.
    void overdraw(std::string why);
    // Closes its viewers at once, whatever they have still to get: nobody publishes it.
    void abort_viewers(std::string_view why);
    // A viewer takes a copy of the packet that it has begun to send. False: too much has been taken.
    bool keep_for_viewer(size_t bytes);
    void drop_for_viewer(size_t bytes) { viewer_bytes_ -= bytes; }
    // By the clock, from the registry's housekeeping: what must not wait for the next frame.
    bool needs_tick() const { return !mix_.empty() || !overdrawn_.empty(); }
    void tick(int64_t now_ms);

    void for_each_log(const std::function<void(LiveLog&)>& visit) const;

    // The stream as RTP; made when somebody asks, and kept.
    RtpLane& rtp_lane();
    // Null: nobody has asked.
    RtpLane* rtp_lane_if_any() const { return rtp_.get(); }
    // Whether somebody takes frames (viewers of a log, sinks), and whether somebody plays RTP.
    bool frames_wanted() const { return !sinks_.empty() || !logs_.empty(); }
    bool rtp_wanted() const;
    // The watcher outlives its watching; it is told of changes only.
    void watch_demand(DemandWatcher& watcher) { demand_watchers_.push_back(&watcher); }
    void unwatch_demand(DemandWatcher& watcher) { std::erase(demand_watchers_, &watcher); }

    // Ends all viewers: the publisher has not come back.
    void end_viewers();
    // The log of that key, made when it is not there.
    LiveLog& log(const LogKey& key);
    void drop_log(const LiveLog& log);  // its last viewer has left

  private:
    friend class Publication;
    friend class Registry;
    friend class RtpLane;
    void tell_demand();
    void leave_registry() { registry_ = nullptr; }
    void publish(media::Frame&& frame);
    void deliver(const media::Frame& frame);
    // Of what is no repetition: the tracks are as it says.
    void change_tracks(const media::Frame& frame);
    void tell_tracks();
    void note_flow(const media::Frame& frame);
    void note_flow_of(bool video, media::Time dts);
    void keep_in_gop(const media::Frame& frame);
    void forget_gop();  // nobody may begin before the next keyframe
    void clear_gop();
    void give_up_gop();
    void own(base::Slice& payload);
    void count_memory();
    void unpublish();
    media::TrackSet& new_tracks();

    Registry* registry_;
    const base::Ref<Fanout> fanout_;  // outlives the logs
    StreamKey key_;
    LiveOptions options_;
    PublicationOwner* owner_ = nullptr;
    int64_t unpublished_since_ms_ = 0;
    int64_t idle_since_ms_ = 0;
    base::Ref<media::TrackSet> tracks_;
    std::array<std::array<media::Codec, media::kMaxTracks>, 2> codecs_{};  // of tracks_: video, audio
    Timeline timeline_;
    MixQueue mix_;
    bool video_flows_ = false;
    bool any_video_ = false;  // a video frame has come in this publication
    media::Time last_video_dts_{};
    bool gop_too_long_ = false;  // not kept until the next keyframe
    std::deque<media::Frame> gop_;
    size_t gop_bytes_ = 0;                   // of memory
    base::Ref<media::TrackSet> gop_tracks_;  // those in force at its first frame
    std::vector<FrameSink*> sinks_;
    std::vector<DemandWatcher*> demand_watchers_;
    std::map<LogKey, std::unique_ptr<LiveLog>> logs_;
    std::unique_ptr<RtpLane> rtp_;
    StreamCounters counters_;
    Health health_;
    int64_t jumped_at_ms_ = 0;
    base::SliceBlock small_parts_;  // what own() copies
    size_t viewer_bytes_ = 0;
    size_t unchecked_bytes_ = 0;  // published since its memory was looked at
    size_t counted_memory_ = 0;
    bool memory_short_ = false;  // the limit was reached, and the log has a line of it
    std::string overdrawn_;      // why its publisher is to go; empty: it may stay
};

}  // namespace live
