#pragma once
// RtpLane: a stream as RTP. Whoever publishes by RTP, and the bridge that makes RTP of frames, write packets into it by
// the same append(); players and the bridge to frames read them. It gives packets sequence numbers and timestamps of
// its own, which go on over a change of publisher; merges requests for keyframes; and says who wants what. One pump
// coroutine tells its sinks once for all packets that came since they were told. Where many watch, sound of long
// packets waits for the next picture, so that both are one message to each of them.
//
// It sends nothing, and knows nothing of SSRC, encryption or what a player has negotiated. Owned by the Stream.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "live/rtp/rtp_clock.h"
#include "live/rtp/rtp_ring.h"
#include "media/track.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace live {

class RtpLane;
class Stream;

// Whoever reads packets. Must not yield. May leave the lane from within any call, and others with it.
class RtpSink {
  public:
    // Read from the ring what is new. True: there was more than it took at once; it is asked again in kPaceMs.
    virtual bool on_packets(int64_t now_us) = 0;
    // Other tracks are in force: another publisher, or the same with other codecs. Its place in the ring is kept.
    virtual void on_tracks() {}
    // The next packets of that track are another source's: its numbers and times go on, and video needs a keyframe.
    // What came before is in the ring and may not have been read yet.
    virtual void on_track_restart(size_t) {}
    // The publisher left; another may come within rejoin_timeout.
    virtual void on_unpublish() {}
    // And none did. It leaves soon.
    virtual void on_stream_end() {}

  protected:
    ~RtpSink() = default;

  private:
    friend class RtpLane;
    uint32_t place_ = UINT32_MAX;
};

// Who can make a keyframe: a publisher.
class KeyframeSource {
  public:
    virtual void make_keyframe() = 0;

  protected:
    ~KeyframeSource() = default;
};

struct RtpLaneCounters {
    uint64_t packets = 0;
    uint64_t bytes = 0;  // of payload
    uint64_t late = 0;
    uint64_t units[2] = {};  // of video and of audio (media::Kind): pictures, packets of sound
    uint64_t keyframes = 0;
    uint64_t keyframe_requests = 0;  // by players
    uint64_t keyframes_asked = 0;    // of the publisher
    uint64_t sequence_jumps = 0;     // a publisher's numbers jumped, and were passed over
    uint64_t timestamp_jumps = 0;    // and its timestamps
    uint64_t restarts = 0;           // of a track, by another source of the same publisher
};

class RtpLane {
  public:
    static constexpr int64_t kPaceMs = 5;              // between two turns of who has more to send than it may at once
    static constexpr int64_t kTickMs = 20;             // no walk sooner than this after the last once there are
    static constexpr size_t kManySinks = 50;           // this many
    static constexpr int64_t kRideMs = 40;             // and then sound waits so long for a picture, where its
    static constexpr int kRideFromMs = 40;             // packets are this long: of shorter ones more would come
    static constexpr int64_t kKeyframeEveryMs = 1000;  // a publisher is asked no more often
    // A timestamp that is so much ahead of where it should be by now, or behind the last one, is another numbering: the
    // lane's own go on. So they never are further from the wall clock than publishers' clocks run.
    static constexpr int64_t kTimestampJumpS = 10;

    enum class Wants : uint8_t { kPlay, kConvert };  // a player, or a bridge: a bridge is no viewer

    explicit RtpLane(Stream& stream, const RtpRingLimits& limits = {});
    ~RtpLane();
    RtpLane(const RtpLane&) = delete;

    Stream& stream() const { return stream_; }

    // ---- Who writes

    // What the next packets are of; at most RtpRing::kMaxTracks. Again for another publisher: sequences and timestamps
    // of a track of the same kind go on, what the ring holds of before is forgotten.
    void set_tracks(std::vector<RtpTrack> tracks, int64_t now_us);
    // The same publisher's next packets of a track come from another source (RFC 3550, 8.2: another SSRC): sequences
    // and timestamps go on, and a request for a keyframe need not wait for its turn.
    void restart_track(size_t track);
    // What a publisher that is not connected yet will send, for the negotiation of players that come before it. Nothing
    // else goes by it. by: whoever says so; the last one counts.
    void expect(const KeyframeSource* by, std::vector<RtpTrack> tracks);
    void expect_no_more(const KeyframeSource* by);
    // track: its place in tracks(). The payload is copied, once. head's numbers are the publisher's.
    void append(size_t track, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us);
    // The publisher's timestamp that belongs to a moment, of a clock that all tracks of one publisher share: by its
    // sender reports, or because a bridge knows. ntp_us: microseconds of any clock. Passed over before the track's
    // first packet: say it again now and then. What wavers by less than 60 ms is followed by a quarter.
    void set_clock(size_t track, int64_t ntp_us, uint32_t timestamp, int64_t now_us);
    // Null: nobody can be asked, as where frames came by RTMP.
    void set_keyframe_source(KeyframeSource* source) { keyframe_source_ = source; }
    // What the newest keyframe's parameters say, where who writes knows.
    void note_picture(media::VideoInfo info) { picture_ = std::move(info); }
    // From time to time, by who writes: a request that had to wait for its turn is passed on.
    void tick(int64_t now_ms);

    // ---- Who reads

    const std::vector<RtpTrack>& tracks() const { return tracks_; }
    const std::vector<RtpTrack>& expected_tracks() const { return expected_; }
    // The track of that kind; -1: there is none.
    int track_of(media::Kind kind) const;
    // Null: there is none, or a bridge makes it of what the publisher sends otherwise.
    const RtpTrack* published_track(media::Kind kind) const;
    const RtpRing& ring() const { return ring_; }
    void join(RtpSink& sink, Wants wants);
    void leave(RtpSink& sink, Wants wants);
    // Calls it soon, although nothing came.
    void wake();
    // Merged: the publisher is asked once per kKeyframeEveryMs.
    void request_keyframe(int64_t now_ms);
    // What a track's timestamps are worth in time, of the wall clock's microseconds; nothing before it is known.
    const RtpClock& clock(size_t track) const { return states_[track].clock; }
    // A timestamp of a track's packet without its wraps: the one nearest to the newest packet's, whose low 32 bits
    // these are.
    int64_t ticks(size_t track, uint32_t timestamp) const { return states_[track].ticks(timestamp); }

    const media::VideoInfo& picture() const { return picture_; }  // its codec is kNone before it is known
    // Whether its packets are a publisher's own, and no bridge's.
    bool published_by_rtp() const { return keyframe_source_ != nullptr; }
    size_t players() const { return players_; }
    size_t sinks() const { return sinks_.size(); }
    bool has_begun() const { return !tracks_.empty(); }
    const RtpLaneCounters& counters() const { return counters_; }

  private:
    friend class Stream;
    struct TrackState {
        uint64_t last_sequence = 0;       // the highest given
        uint64_t first_sequence = 0;      // the lowest that a packet of this source may have
        uint16_t publisher_sequence = 0;  // its publisher's number
        bool any = false;                 // of this source
        bool ever = false;
        bool restarted = false;  // another source of the same publisher
        int64_t timestamp = 0;   // the lane's, of the newest packet, unwrapped
        int64_t came_us = 0;
        uint32_t add = 0;  // to the publisher's timestamps
        RtpClock clock;

        int64_t ticks(uint32_t wrapped) const {
            return timestamp + static_cast<int32_t>(wrapped - static_cast<uint32_t>(timestamp));
        }
    };
    uint64_t sequence_of(TrackState& state, uint16_t sequence, bool& late);
    int64_t first_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us);
    int64_t next_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us);
    void restart();  // another publisher has the stream
    void tell_unpublished();
    void end_players();
    void tell(void (RtpSink::*what)());
    void note_unread(bool pressing);
    bool rides(size_t track) const;
    void pump();
    void wait_for_many(int64_t tick_ms, int64_t ride_ms);
    bool walk();

    Stream& stream_;
    RtpRing ring_;
    std::vector<RtpTrack> tracks_, expected_;
    const KeyframeSource* expected_by_ = nullptr;
    std::array<TrackState, RtpRing::kMaxTracks> states_{};
    std::vector<RtpSink*> sinks_;
    size_t players_ = 0;
    media::VideoInfo picture_;
    KeyframeSource* keyframe_source_ = nullptr;
    int64_t keyframe_asked_ms_ = INT64_MIN / 2;
    bool keyframe_wanted_ = false;
    int64_t clock_offset_us_ = 0;  // of the publisher's clock from the wall clock
    bool has_clock_offset_ = false;
    bool unread_ = false;    // packets came since the last walk
    bool pressing_ = false;  // and one that does not wait for a picture
    runtime::Event wake_{"RTP packets"};
    runtime::Task pump_;
    RtpLaneCounters counters_;
};

}  // namespace live
