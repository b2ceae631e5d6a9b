#pragma once
// RtpRing: the last RTP packets of one stream, all tracks, in order of arrival: the source for sending to players, for
// the start of new players, and for retransmissions. A payload is stored once, in blocks shared by many packets; a
// Slice keeps its block in memory. Bounded in packets, bytes and time; dropped packets are counted. Sender threads may
// read payloads after they were dropped: Senders::retire() keeps their blocks until then.
//
// Order of arrival, not order of sequence: holding packets back for a missing one would add its round trip to every
// player's delay, and receivers sort packets anyway.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/slice.h"
#include "media/codec.h"

namespace live {

struct RtpTrack {
    media::Kind kind = media::Kind::kVideo;
    media::Codec codec = media::Codec::kNone;
    uint32_t clock_rate = 90'000;
    uint8_t channels = 0;      // audio
    uint8_t payload_type = 0;  // the publisher's; each player has its own
    uint32_t ssrc = 0;         // the publisher's
    int ptime_ms = 0;          // audio: duration of a packet; 0: not known
    std::string fmtp{};        // "packetization-mode=1;profile-level-id=42e01f"; empty: none
    std::string sprop{};       // parameter sets from the publisher's description; empty: none

    friend bool operator==(const RtpTrack&, const RtpTrack&) = default;
};

// The fields of an RTP header that are kept.
struct RtpHead {
    uint16_t sequence = 0;
    uint32_t timestamp = 0;
    bool marker = false;
    bool keyframe = false;  // a decoder may begin with the access unit that this packet belongs to
};

struct RtpPacket {
    base::Slice payload;     // without header, extensions and padding
    uint64_t sequence = 0;   // the lane's, per track: continues over a change of publisher; never 0
    int64_t arrival_us = 0;  // by the loop's clock
    uint32_t timestamp = 0;  // the lane's, per track, as on the wire: it wraps (RtpLane::ticks())
    uint8_t track = 0;       // its index in RtpLane::tracks()
    bool marker = false;
    bool keyframe = false;
    bool late = false;  // one of a higher sequence arrived before
};

struct RtpRingLimits {
    size_t packets = 8192;  // a power of two
    size_t bytes = 16 * 1024 * 1024;
    // Where packets arrive more often than kTrimEveryUs, they are kept up to that much longer.
    int64_t history_us = 2'000'000;  // always kept for retransmission
    int64_t max_us = 10'000'000;     // kept at most, to reach back to the newest keyframe
};

class RtpRing {
  public:
    static constexpr size_t kMaxTracks = 4;
    explicit RtpRing(const RtpRingLimits& limits = {});
    ~RtpRing() { clear(); }
    RtpRing(const RtpRing&) = delete;

    // Positions count all packets since the beginning. Those in [begin, end) are available.
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    const RtpPacket& at(uint64_t position) const { return slots_[position & mask_]; }
    // The packet with that sequence; null: it never arrived, or was dropped.
    const RtpPacket* find(uint8_t track, uint64_t sequence) const;
    // The highest sequence number of the packets of that track that were dropped since clear(); 0: none was.
    uint64_t highest_dropped(uint8_t track) const { return tracks_[track].highest_dropped; }
    // The position where the newest access unit begins that a decoder may begin with; nothing: none is left.
    std::optional<uint64_t> newest_keyframe() const;

    // Takes a copy of the payload. packet.payload is not read. packet.track < kMaxTracks.
    void append(RtpPacket packet, std::span<const uint8_t> payload);
    // Players must not begin with earlier packets of that track: packets that follow do not refer to them.
    void forget_keyframe(uint8_t track);
    // Players must not begin with earlier packets, nor get retransmissions of them.
    void clear();

    size_t packets() const { return end_ - begin_; }
    size_t bytes() const { return bytes_; }  // of payload
    // Bytes of allocations. Packets at the front of the first block may be dropped, the last block is not full.
    size_t memory() const {
        size_t positions = 0;
        for (const Track& track : tracks_) positions += track.position.size();
        return bytes_ + (block_.empty() ? 0 : 2 * kBlockBytes) + slots_.size() * sizeof(RtpPacket) +
               positions * sizeof(uint32_t);
    }

  private:
    // So that a slow stream's last packet does not keep a large block; a payload is never larger than a datagram.
    static constexpr size_t kBlockBytes = 32 * 1024;
    static constexpr size_t kFirstSlots = 128;
    // Old packets are dropped some at a time: their memory left the processor's cache long ago.
    static constexpr int64_t kTrimEveryUs = 200'000;

    base::Slice store(std::span<const uint8_t> payload);
    void trim(int64_t now_us);
    void drop_first();
    void grow();
    void record_start(const RtpPacket& packet);

    struct Track {
        uint64_t unit_begin = 0;  // position of the first packet of unit_timestamp
        uint32_t unit_timestamp = 0;
        bool has_unit = false;
        bool begun = false;  // that unit is a possible start, and was recorded
        uint64_t highest_dropped = 0;
        std::vector<uint32_t> position;  // low bits, by sequence
    };
    std::vector<RtpPacket> slots_;
    size_t mask_ = 0;  // their number - 1
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    uint64_t keyframe_ = UINT64_MAX;
    size_t bytes_ = 0;
    base::Slice block_;
    uint8_t* free_ = nullptr;  // in block_
    size_t free_bytes_ = 0;
    int64_t trim_at_us_ = INT64_MIN;  // the next time
    std::array<Track, kMaxTracks> tracks_;
    RtpRingLimits limits_;
};

}  // namespace live
