#pragma once
// Stream: the hub atom. One publisher at most, frames in, frames out to sinks and to the logs that have viewers. It
// corrects the timeline once, keeps the current GOP as references, and the current tracks. Without a subscriber a frame
// costs only its parsing. Single-threaded, never yields. Held by Ref: by its publication and by its viewers.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/close_reason.h"
#include "base/flat_queue.h"
#include "base/ref.h"
#include "base/result.h"
#include "base/stream_key.h"
#include "live/fanout/delivery.h"
#include "live/fanout/wire_encoder.h"
#include "live/hub/health.h"
#include "live/hub/mix_queue.h"
#include "live/hub/options.h"
#include "live/hub/standby.h"
#include "live/hub/stream_memory.h"
#include "live/hub/timeline.h"
#include "media/per_track.h"
#include "media/track_set.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace runtime {
class ByteStream;
}

namespace live {

class InputFaults;
class LiveLog;
class MessageLane;
class Registry;
class RtpLane;
class Stream;

using base::StreamKey;

// What is known of a publisher: for outputs that forward its stream, and for hooks, API and log.
struct PublisherFacts {
    std::string session_id{};
    std::string ip{};
    std::string tc_url{};
    std::string page_url{};
    std::string params{};        // "?k=v", or empty
    std::string forward_path{};  // the servers that the stream passed (Registry::instance()), "a,b"; empty: none
};

// The publisher. Must outlive its Publication.
class PublicationOwner {
  public:
    virtual PublisherFacts facts() const { return {}; }
    // False when the connection is dead, though its coroutine has not noticed: another publisher may then take the
    // name.
    virtual bool publisher_alive() const = 0;
    // True: the stream is published at another server, from which this one pulls it for its players.
    virtual bool is_relay() const { return false; }
    // True: it is published in another process of this server, which records it and passes it on (an upgrade).
    virtual bool is_copy() const { return false; }
    // True: it writes the stream's RTP lane itself, and frames, if there are any, are converted from that.
    virtual bool publishes_rtp() const { return false; }
    // The stream whose layers of simulcast are streams of their own, where this publication is of one of them or of the
    // stream itself. Nothing: it is of neither.
    virtual std::optional<StreamKey> simulcast_of() const { return std::nullopt; }
    // How many more tracks it sends than a stream may have; they are dropped.
    virtual size_t dropped_tracks() const { return 0; }
    // What it sent that could not be used; null: that is not counted.
    virtual const InputFaults* input_faults() const { return nullptr; }
    // Bytes of allocations for input whose end has not come, as net::InputHolder has them.
    virtual size_t unfinished_input() const { return 0; }
    // Viewers are about to be sent to, and what waits in the publisher's socket is to be sent with it; or the first
    // player has come. True: its coroutine was woken to read.
    virtual bool read_now() { return false; }
    // Another publisher has the name now (kPublisherReplaced), or the stream exceeds its memory limit (kFlood). The
    // publication is void; the owner must end soon.
    virtual void publication_revoked(std::string_view why, base::CloseReason reason) = 0;
    // Enabled: while another publisher has the name its publication waits instead of being refused, and it may have to
    // wait again later. A publisher of frames need not know which of the two is the case.
    virtual StandbyOptions standby() const { return {}; }
    // Another publisher has the name now, and the publication waits.
    virtual void publication_waits() {}
    // The publication that waited has the name now; its next frame is the first.
    virtual void publication_activated() {}
    // A keyframe of the waiting publication is wanted soon, with which it takes over. Repeated every second.
    virtual void standby_keyframe_wanted() {}

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
    // Another publisher has the name, and this one may take over later. Its frames are not published; where it may take
    // over, publish() does so with a keyframe.
    bool waits() const { return stream_ && owner_ && stream_waits(); }
    // For a publisher that writes the RTP lane itself: a packet of that kind is there; keyframe: the first one of a
    // keyframe. True: the publication is in force, from this packet on if it waited.
    bool offer(media::Kind kind, bool keyframe);
    // frame.dts is the publisher's time, which does not wrap. Dropped silently after the publication was revoked.
    void publish(media::Frame frame);
    // The publisher has declared absolute times: they are kept from the next frame on where atc_auto allows it.
    void has_absolute_times();
    // Languages and labels, as far as the publisher states them.
    void describe_tracks(std::vector<media::TrackName> names);
    // No frames come for a while: viewers must not begin with the cached ones.
    void pause();
    void end();
    Stream* stream() const { return stream_.get(); }

  private:
    friend class Stream;
    Publication(base::Ref<Stream> stream, PublicationOwner& owner);
    bool is_active() const;
    bool stream_waits() const;
    base::Ref<Stream> stream_;
    PublicationOwner* owner_ = nullptr;
};

// A consumer of frames: recorders, segmenters, converters. Called in order of publishing; must not yield.
class FrameSink {
  public:
    // The tracks from the next frame on, and the metadata. Called before a track's first frame, and whenever a codec, a
    // header or the metadata changes. Changed tracks have another revision.
    virtual void on_tracks(const base::Ref<media::TrackSet>& tracks) = 0;
    // An audio or video frame, or a data message; no sequence header. Frame::discontinuity marks where times jumped.
    virtual void on_frame(const media::Frame& frame) = 0;
    virtual void on_publish() {}
    virtual void on_unpublish() {}
    // Memory of the frames that it keeps, and of data made from them, in bytes of allocations.
    virtual size_t memory() const { return 0; }
    // The stream exceeds its memory limit: the sink releases what it can drop or write out early.
    virtual void release_memory() {}

  protected:
    ~FrameSink() = default;
};

// A converter that runs only on demand: the bridges between frames and RTP. Must not yield.
class DemandWatcher {
  public:
    // The result of frames_wanted() or rtp_wanted() may have changed.
    virtual void demand_changed(Stream& stream) = 0;

  protected:
    ~DemandWatcher() = default;
};

// What a coroutine waits for.
enum class Awaited : uint8_t {
    kPublished,
    kTracks,  // published, and audio and video are known with their headers; one of them where the other does not come
};

struct AwaitOptions {
    runtime::ByteStream* client = nullptr;  // whose end ends the wait; null: it is not watched
    // Checked whenever the stream has changed and after wake_waiting(): false ends the wait. Empty: it goes on. Must
    // not yield.
    std::function<bool()> may_wait{};
};

struct StreamCounters {
    uint64_t audio_frames = 0;
    uint64_t video_frames = 0;
    uint64_t payload_bytes = 0;
    uint64_t timeline_jumps = 0;
    uint64_t viewer_jumps = 0;     // times a viewer was too far behind
    uint64_t jumped_viewers = 0;   // viewers that jumped at least once
    uint64_t skipped_bytes = 0;    // log bytes that they skipped
    uint64_t memory_releases = 0;  // times its memory reached a limit
};

class Stream : public base::RefCounted<Stream> {
  public:
    Stream(Registry* registry, StreamKey key, LiveOptions options);
    ~Stream();

    const StreamKey& key() const { return key_; }
    // Shared with the other streams of its registry.
    Delivery& delivery() { return *delivery_; }
    const LiveOptions& options() const { return options_; }
    void set_options(const LiveOptions& options) { options_ = options; }

    // kBusy while another publisher is alive, unless takeover; with standby enabled when too many wait.
    base::Result<void> check_free(bool takeover, const StandbyOptions& standby = {}) const;
    // The same with the owner's options, and acquires the stream, or begins to wait for it.
    base::Result<Publication> acquire(PublicationOwner& owner, bool takeover);
    // The publishers that wait; null: none does.
    const StandbyQueue* standby() const { return standby_.get(); }
    // Whether one of them is about to take over a stream without a publisher.
    bool awaits_standby(int64_t now_ms) const;
    bool published() const { return owner_ != nullptr; }
    // See PublicationOwner::read_now().
    bool read_publisher() { return owner_ && owner_->read_now(); }
    const PublicationOwner* publisher() const { return owner_; }  // null: not published
    int64_t unpublished_since_ms() const {
        return unpublished_since_ms_;
    }  // by the loop's clock; 0 while published or never published

    void subscribe(FrameSink& sink);  // delivers the tracks and the GOP at once
    void unsubscribe(FrameSink& sink);

    const base::Ref<media::TrackSet>& tracks() const { return tracks_; }
    // Whether video frames arrived recently.
    bool video_flows() const { return video_flows_; }
    // Where a viewer may begin: at keyframes, or at any audio frame of a stream without video. The latter also before a
    // publication's first keyframe, so that waiting viewers get the audio until then; video before it is for no viewer.
    bool begins_at_keyframes() const { return video_flows_ && has_keyframe_; }
    // The frames since the newest keyframe, or the last audio_cache_ms of a stream without video.
    const base::FlatQueue<media::Frame>& gop() const { return gop_; }
    const base::Ref<media::TrackSet>& gop_tracks() const { return gop_tracks_; }  // the tracks at its first frame
    // While an upgrade is made: until then it begins where it does now, or with the next frame of a stream without
    // video, so that the server's other process gets all from there on. until_ms: by the loop's clock.
    void hold_gop(int64_t until_ms);
    bool holds_gop() const { return held_until_ms_ > 0 && runtime::event_ms() < held_until_ms_; }
    media::Time last_dts() const { return timeline_.last(); }

    // Who watches: players of every protocol, those of files (HLS) and those that wait (leases.h) among them. Servers
    // to which the stream is passed on and recordings are no players.
    size_t demand() const { return players_ + (file_players_ == 0 && has_unnamed_players() ? 1 : 0); }
    // demand() without the server's other process.
    size_t players() const { return demand() - std::min<size_t>(demand(), copies_); }
    // When demand() became 0 or publishing began, by the loop's clock; 0 while there is demand.
    int64_t idle_since_ms() const;
    // Players of files that cannot be told apart, and together count as one: they are expected to be there until then.
    void expect_file_players(int64_t until_ms) {
        if (!has_unnamed_players()) read_publisher();
        file_players_until_ms_ = std::max(file_players_until_ms_, until_ms);
    }
    // Viewers of its logs and players of its lanes: those that its end ends.
    size_t viewer_count() const;

    // Waits until that is so. kNotFound: not published by the deadline, or may_wait() is false; kTimeout: published
    // without tracks until then; kCancelled: the client is gone, or this coroutine was cancelled. The caller holds the
    // stream, has a PlayerLease if it waits for a player, and bounds how many wait. Yields.
    base::Result<void> await(Awaited what, runtime::Deadline deadline, const AwaitOptions& options = {});
    // Something that may_wait() depends on has changed.
    void wake_waiting() { changed_.pulse(); }

    const StreamCounters& counters() const { return counters_; }
    StreamCounters& counters() { return counters_; }
    // For statistics: the counters, and for a stream that is published by RTP those of its RTP, whether it is converted
    // to frames or not.
    StreamCounters figures() const;
    uint64_t frames() const {
        const StreamCounters all = figures();
        return all.audio_frames + all.video_frames;
    }
    // Audio and video frames of the present publication, or of the last one.
    uint64_t publication_frames() const { return counters_.audio_frames + counters_.video_frames - frames_before_; }
    const Health& health() const { return health_; }
    int64_t jumped_at_ms() const { return jumped_at_ms_; }  // by the loop's clock: when its times last jumped; 0: never
    bool gop_too_long() const { return gop_too_long_; }

    StreamMemory memory() const;
    // Counts the memory, and releases what exceeds the limit. Called automatically as frames arrive. frame_bytes: of
    // the newest frame; a publisher of frames that alone exceed the limit is ended.
    void check_memory(size_t frame_bytes = 0);
    // Releases memory, the least needed first, until at most target bytes are held, as far as that is possible.
    void release_memory(size_t target);
    // The result of the last count.
    size_t counted_memory() const { return counted_memory_; }
    // The publisher exceeds the memory limit: its frames are dropped from now on, and it is closed soon.
    void overdraw(std::string why);
    // Ends the publication: an output without which it is useless has failed. The publisher is told why.
    void revoke(std::string_view why, base::CloseReason reason);
    // Closes its viewers at once, whatever is unsent: the stream has no publisher.
    void abort_viewers(std::string_view why);
    // Accounts the copy of a packet that a viewer has begun to send. False: the limit of such copies is reached.
    bool keep_for_viewer(size_t bytes);
    void drop_for_viewer(size_t bytes) { viewer_bytes_ -= bytes; }
    // Called by the registry's housekeeping, by the clock: for work that cannot wait for the next frame.
    bool needs_tick() const { return !mix_.empty() || !overdrawn_.empty() || standby_; }
    void tick(int64_t now_ms);
    // The housekeeping has to visit it: for a tick, or because its viewers wait for a publisher.
    bool needs_housekeeping() const { return unpublished_since_ms_ > 0 || needs_tick(); }

    void for_each_log(const std::function<void(LiveLog&)>& visit) const;

    // The stream as RTP; created on the first call, and kept.
    RtpLane& rtp_lane();
    // Null: it was not created.
    RtpLane* rtp_lane_if_any() const { return rtp_.get(); }
    // The stream as messages; created on the first call, and kept. The key is the same in all calls.
    MessageLane& message_lane(const LogKey& key);
    // The viewers of its logs are sent to at multiples of their interval from here, all logs at once. It is when the
    // stream came, so that those of many streams differ.
    int64_t cycle_offset_ms() const { return cycle_offset_ms_; }
    bool has_sinks() const { return !sinks_.empty(); }
    bool has_logs() const { return !logs_.empty(); }
    // Whether there are consumers of frames (viewers of a log, sinks, leases), and whether there are players of RTP.
    bool frames_wanted() const { return !sinks_.empty() || !logs_.empty() || frame_leases_ > 0; }
    bool rtp_wanted() const;
    // Whether somebody gets its frames as they come, or what is made of them. Sinks alone tolerate delay.
    bool is_followed() const { return !logs_.empty() || frame_leases_ > 0 || rtp_wanted() || demand() > 0; }
    // The watcher must live until unwatch_demand(); it is called for changes only.
    void watch_demand(DemandWatcher& watcher);
    void unwatch_demand(DemandWatcher& watcher);

    // Ends all viewers: the publisher has not come back.
    void end_viewers();
    // The log of that key, created if it is missing.
    LiveLog& log(const LogKey& key);
    void drop_log(const LiveLog& log);  // its last viewer has left

  private:
    friend class Publication;
    friend class Registry;
    friend class RtpLane;
    friend class MessageLane;
    friend class Audience;
    friend class PlayerLease;
    friend class CopyLease;
    friend class FramesLease;
    void notify_demand();
    void add_player() {
        if (players_++ > 0) return;
        idle_since_ms_ = 0;
        read_publisher();
    }
    void remove_player() {
        if (--players_ == 0) idle_since_ms_ = runtime::now_ms();
    }
    bool has_unnamed_players() const;
    // stream_await.cpp. settled: until when a track may come after the other one.
    bool has_awaited(Awaited what, runtime::Deadline& settled) const;
    void add_frames_lease();
    void remove_frames_lease();
    void leave_registry() { registry_ = nullptr; }
    void ask_for_housekeeping();
    void publish(media::Frame&& frame);
    void deliver(const media::Frame& frame);
    // For frames that are no repetition: the tracks become what the frame says.
    void change_tracks(const media::Frame& frame);
    void notify_tracks();
    void for_each_sink(auto&& call);
    void update_flow(const media::Frame& frame);
    bool awaits_keyframe(const media::Frame& frame) const {
        return !has_keyframe_ && frame.kind == media::Kind::kVideo && !frame.sequence_header;
    }
    void update_kind_flow(bool video, media::Time dts);
    void keep_in_gop(const media::Frame& frame);
    void forget_gop();  // viewers cannot begin before the next keyframe
    void clear_gop();
    void give_up_gop();
    void compact(base::Slice& payload);
    void count_memory();
    void unpublish();
    media::TrackSet& new_tracks();
    void begin(PublicationOwner& owner);
    // stream_standby.cpp
    bool must_wait() const;
    base::Result<void> check_standby(const StandbyOptions& options) const;
    void add_standby(PublicationOwner& owner, int priority, int64_t now_ms);
    void remove_standby(PublicationOwner& owner);
    bool is_standby(const PublicationOwner& owner) const { return standby_ && standby_->find(owner); }
    void publish_standby(PublicationOwner& owner, media::Frame&& frame);
    void keep_standby_header(PublicationOwner& owner, const media::Frame& frame);
    void keep_standby_tracks(PublicationOwner& owner);
    void describe_standby(PublicationOwner& owner, std::vector<media::TrackName> names);
    bool offer_standby(PublicationOwner& owner, media::Kind kind, bool keyframe);
    void switch_to(PublicationOwner& owner, StandbyReason reason, int64_t now_ms);
    void check_standby_memory(PublicationOwner& owner);
    void update_active(int64_t now_ms);
    void tick_standby(int64_t now_ms);
    void notify_standby(const PublicationOwner& owner, int priority, bool is_active, StandbyReason reason,
                        std::string other);

    Registry* registry_;
    const base::Ref<Delivery> delivery_;  // outlives the logs
    StreamKey key_;
    LiveOptions options_;
    PublicationOwner* owner_ = nullptr;
    int64_t unpublished_since_ms_ = 0;
    bool asked_for_housekeeping_ = false;  // it is in the registry's list
    int64_t idle_since_ms_ = 0;
    int64_t file_players_until_ms_ = 0;
    uint32_t players_ = 0;
    uint32_t file_players_ = 0;  // of these: with a lease
    uint32_t copies_ = 0;        // of these: the server's other process
    uint32_t frame_leases_ = 0;
    uint64_t frames_before_ = 0;  // counted before this publication
    runtime::Event changed_{"a stream"};
    base::Ref<media::TrackSet> tracks_;
    media::PerTrack<media::Codec> codecs_;  // of tracks_
    Timeline timeline_;
    MixQueue mix_;
    bool video_flows_ = false;
    bool has_video_ = false;     // a video frame arrived in this publication
    bool has_keyframe_ = false;  // one of the first video track
    media::Time last_video_dts_{};
    bool gop_too_long_ = false;  // not kept until the next keyframe
    base::FlatQueue<media::Frame> gop_;
    size_t gop_bytes_ = 0;                   // of memory
    int64_t held_until_ms_ = 0;              // 0: it is not held
    base::Ref<media::TrackSet> gop_tracks_;  // the tracks at its first frame
    std::vector<FrameSink*> sinks_;
    std::vector<DemandWatcher*> demand_watchers_;
    std::vector<std::unique_ptr<LiveLog>> logs_;  // few: one for each key
    const int64_t cycle_offset_ms_;
    std::unique_ptr<RtpLane> rtp_;
    std::unique_ptr<MessageLane> messages_;
    StreamCounters counters_;
    Health health_;
    int64_t jumped_at_ms_ = 0;
    base::SliceBlock small_parts_;  // copies made by compact()
    size_t viewer_bytes_ = 0;
    size_t unchecked_bytes_ = 0;  // published since the last count of memory
    size_t counted_memory_ = 0;
    bool memory_short_ = false;              // the limit was reached, and this was logged
    std::string overdrawn_;                  // why its publisher is to be closed; empty: it is not
    std::unique_ptr<StandbyQueue> standby_;  // null: no publisher waits
    int priority_ = 0;                       // of the publisher, where standby is enabled
    int64_t keyframe_wanted_ms_ = 0;         // of the next one that takes over
};

}  // namespace live
