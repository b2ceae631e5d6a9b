#pragma once
// RtpLane: a stream as RTP. RTP publishers, and the bridge that converts frames to RTP, write packets into it by the
// same append(); players and the bridge to frames read them. Packets get sequence numbers and timestamps of the lane,
// which continue over a change of publisher. The lane also merges requests for keyframes, and knows what its readers
// need. Its sinks are notified by SendScheduler, once for all packets that arrived since. Audio of long packets waits
// for the next video frame, so that both are one message to each sink.
//
// It sends nothing, and does not handle SSRC, encryption or what a player has negotiated. Owned by the Stream.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "live/fanout/sink_group.h"
#include "live/rtp/red_payloads.h"
#include "live/rtp/rtp_clock.h"
#include "live/rtp/rtp_ring.h"
#include "live/rtp/sequence_window.h"
#include "media/track.h"

namespace live {

class RtpLane;
class RtpLayers;
class Stream;

// A reader of packets. Must not yield. Any call may remove sinks from the lane: this one and others.
class RtpSink : public ReadySink {
  public:
    // The tracks changed: another publisher, or the same with other codecs. The sink's position in the ring stays
    // valid.
    virtual void on_tracks() {}
    // The next packets of that track come from another source: sequence numbers and times continue, and video needs a
    // keyframe. Packets of the old source are in the ring and may not have been read yet.
    virtual void on_track_restart(size_t) {}
    // The publisher left; another may come within rejoin_timeout.
    virtual void on_unpublish() {}
    // No publisher followed in time. The sink must leave soon.
    virtual void on_stream_end() {}

  protected:
    ~RtpSink() = default;
};

// A source of keyframes on request: a publisher.
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
    uint64_t refused = 0;    // duplicates, and packets too old to be sent
    uint64_t units[2] = {};  // of video and of audio (media::Kind): video frames, packets of audio
    uint64_t keyframes = 0;
    uint64_t keyframe_requests = 0;  // by players
    uint64_t keyframes_asked = 0;    // of the publisher
    uint64_t sequence_jumps = 0;     // jumps of a publisher's sequence numbers, which were removed
    uint64_t timestamp_jumps = 0;    // the same for its timestamps
    uint64_t restarts = 0;           // of a track, by another source of the same publisher
};

class RtpLane final : private SinkGroup<RtpSink> {
  public:
    static constexpr int64_t kMaxAudioWaitMs = 40;     // audio waits at most this long for video, where its
    static constexpr int kMinPtimeToWaitMs = 40;       // packets are this long: of shorter ones more would come
    static constexpr int64_t kKeyframeEveryMs = 1000;  // minimum interval of requests to a publisher
    static constexpr int64_t kStartEveryMs = 3000;     // the same for players that begin
    // A timestamp that is this far ahead of its expected value, or behind the last one, is a jump to another numbering:
    // the lane's timestamps continue without it. So they never deviate from the wall clock by more than publishers'
    // clocks do.
    static constexpr int64_t kTimestampJumpS = 10;
    // The moment of another source's first packet that contradicts its arrival by more is not used.
    static constexpr int64_t kMaxRestartErrorS = 2;

    enum class Wants : uint8_t { kPlay, kConvert };  // a player, or a bridge: a bridge is no viewer

    explicit RtpLane(Stream& stream, const RtpRingLimits& limits = {});
    ~RtpLane();

    Stream& stream() const override { return stream_; }

    // ---- For writers

    // The tracks of the next packets; at most RtpRing::kMaxTracks. Called again for another publisher: sequences and
    // timestamps of a track of the same kind continue, older packets in the ring are discarded.
    void set_tracks(std::vector<RtpTrack> tracks);
    // The same publisher's next packets of a track come from another source (RFC 3550, 8.2: another SSRC; another layer
    // of simulcast): sequences and timestamps continue, and the next request for a keyframe is not delayed by
    // kKeyframeEveryMs. ntp_us: the moment of the next packet, by the clock of set_clock(); its time is exact where
    // that is known of both sources, otherwise by arrival.
    void restart_track(size_t track, std::optional<int64_t> ntp_us = std::nullopt);
    // The tracks of a publisher that is not connected yet, for the negotiation of players that join before it. They
    // have no other effect. by: the source of the expectation; the last one counts.
    void expect(const KeyframeSource* by, std::vector<RtpTrack> tracks);
    void expect_no_more(const KeyframeSource* by);
    // track: its index in tracks(). The payload is copied, once. head's numbers are the publisher's. A packet whose
    // sequence number was used before is refused, as is one older than what the ring still has.
    void append(size_t track, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us);
    // The same where somebody reads the lane; otherwise it keeps no packets, and its next reader begins with what comes
    // then.
    void append_if_read(size_t track, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us) {
        if (sinks() > 0) return append(track, head, payload, now_us);
        if (ring_.packets() > 0) set_tracks(std::vector(tracks_));
    }
    // The publisher's timestamp that belongs to a moment of a clock shared by all its tracks: from its sender reports,
    // or known to a bridge. ntp_us: microseconds of any clock. Ignored before the track's first packet: call it again
    // now and then. The newest one counts: whoever makes times of it smooths them (convert/rtp/track_clocks.h).
    void set_clock(size_t track, int64_t ntp_us, uint32_t timestamp);
    // Its times are on the clock of that lane, which must outlive it: both are of one publisher.
    void share_clock(const RtpLane& with) { clock_shared_with_ = &with; }
    // The publisher sends layers of simulcast, of which this lane's video is one. Until the next set_tracks().
    void set_layers(std::span<const std::string> rids);
    // Null: the publisher sends none.
    RtpLayers* layers() { return layers_.get(); }
    const RtpLayers* layers() const { return layers_.get(); }
    // Null: keyframes cannot be requested, as where frames came by RTMP.
    void set_keyframe_source(KeyframeSource* source) { keyframe_source_ = source; }
    // The parameters of the newest keyframe, where the writer knows them.
    void set_video_info(media::VideoInfo info) { video_info_ = std::move(info); }
    // To be called periodically by the writer: forwards a keyframe request that was delayed.
    void tick(int64_t now_ms);

    // ---- For readers

    const std::vector<RtpTrack>& tracks() const { return tracks_; }
    const std::vector<RtpTrack>& expected_tracks() const { return expected_; }
    // The track of that kind; -1: there is none.
    int track_of(media::Kind kind) const;
    // Null: there is none, or a bridge converts it from another format of the publisher.
    const RtpTrack* published_track(media::Kind kind) const;
    const RtpRing& ring() const { return ring_; }
    // Of an audio packet of the ring; all viewers with that payload type share it. Until the next call.
    const base::Slice& red_payload(const RtpPacket& packet, uint8_t payload_type) {
        if (!red_payloads_) red_payloads_ = std::make_unique<RedPayloads>();
        return red_payloads_->of(ring_, packet, payload_type);
    }
    void join(RtpSink& sink, Wants wants);
    void leave(RtpSink& sink, Wants wants);
    // Has the sinks called soon, even without new packets.
    void wake();
    // Merged: the publisher gets one request per kKeyframeEveryMs.
    void request_keyframe(int64_t now_ms);
    // For a player that begins: one request per kStartEveryMs, unless the ring has no keyframe. False: none comes for
    // it.
    bool request_start(int64_t now_ms);
    // The relation of a track's timestamps to the wall clock in microseconds; not known at first.
    const RtpClock& clock(size_t track) const { return states_[track].clock; }
    // Unwraps a timestamp of a track's packet: the value nearest to the newest packet's with these low 32 bits.
    int64_t ticks(size_t track, uint32_t timestamp) const { return states_[track].ticks(timestamp); }

    const media::VideoInfo& video_info() const { return video_info_; }  // its codec is kNone before it is known
    // Whether its packets come from a publisher by RTP, and not from a bridge.
    bool published_by_rtp() const { return keyframe_source_ != nullptr; }
    size_t players() const { return players_; }
    using SinkGroup::sinks;
    size_t memory() const;  // bytes of allocations for packets
    const RtpLaneCounters& counters() const { return counters_; }

  private:
    friend class Stream;
    struct TrackState {
        uint64_t last_sequence = 0;             // the highest assigned
        uint64_t first_sequence = 0;            // the lowest that a packet of this numbering may have
        uint16_t publisher_sequence = 0;        // the newest number of its publisher
        bool has_received = false;              // packets of this source arrived
        bool has_history = false;               // packets of any source arrived
        bool restarted = false;                 // another source of the same publisher
        std::optional<int64_t> next_timestamp;  // of its first packet, unwrapped, where it is known
        int64_t timestamp = 0;                  // the lane's, of the newest packet, unwrapped
        int64_t arrival_us = 0;
        uint32_t add = 0;  // added to the publisher's timestamps
        media::Kind kind = media::Kind::kVideo;
        RtpClock clock;
        SequenceWindow assigned;

        int64_t ticks(uint32_t wrapped) const {
            return timestamp + static_cast<int32_t>(wrapped - static_cast<uint32_t>(timestamp));
        }
    };
    uint64_t sequence_of(TrackState& state, uint16_t sequence, bool& late);
    bool take_sequence(TrackState& state, const RtpPacket& packet, uint64_t newest_before);
    int64_t first_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us);
    int64_t next_ticks(TrackState& state, uint32_t rate, uint32_t timestamp, int64_t now_us);
    void restart();  // another publisher has the stream
    void notify_unpublished();
    void end_players();
    // The sinks are called in so many ms.
    void request_calls(int64_t in_ms);
    bool waits_for_video(size_t track) const;

    // First what each packet needs, in few cache lines.
    Stream& stream_;
    std::vector<RtpTrack> tracks_;
    bool keyframe_wanted_ = false;
    RtpLaneCounters counters_;
    std::array<TrackState, RtpRing::kMaxTracks> states_{};
    uint64_t highest_sequence_ = 0;  // of all tracks before the last set_tracks()
    RtpRing ring_;
    std::unique_ptr<RedPayloads> red_payloads_;  // null: nobody has been sent one
    std::vector<RtpTrack> expected_;
    const KeyframeSource* expected_by_ = nullptr;
    size_t players_ = 0;
    media::VideoInfo video_info_;
    KeyframeSource* keyframe_source_ = nullptr;
    int64_t keyframe_asked_ms_ = INT64_MIN / 2;
    int64_t clock_offset_us_ = 0;  // of the publisher's clock from the wall clock
    bool has_clock_offset_ = false;
    const RtpLane* clock_shared_with_ = nullptr;
    std::unique_ptr<RtpLayers> layers_;
};

}  // namespace live
