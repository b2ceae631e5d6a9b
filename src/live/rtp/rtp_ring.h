#pragma once
// RtpRing: the last RTP packets of one stream, all tracks, in the order in which they came: what players are sent,
// where a new one may begin, and what retransmissions are made of. A payload is stored once, in blocks shared by many
// packets; whoever keeps a Slice keeps its block. Bounded in packets, bytes and time; what falls out is counted. Pure.
//
// Arrival order, not order of sequence: to hold packets back for one that is missing would add its round trip to
// everybody's delay, and receivers put packets into order anyway.

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
    uint8_t payload_type = 0;  // the publisher's; players have their own
    uint32_t ssrc = 0;         // the publisher's
    int ptime_ms = 0;          // audio: how long a packet is; 0: not known
    std::string fmtp{};        // "packetization-mode=1;profile-level-id=42e01f"; empty: none
    std::string sprop{};       // parameter sets that its publisher's description told; empty: none
};

// What a header of RTP says that outlives its journey.
struct RtpHead {
    uint16_t sequence = 0;
    uint32_t timestamp = 0;
    bool marker = false;
    bool keyframe = false;  // a decoder may begin with the access unit that this packet belongs to
};

struct RtpPacket {
    base::Slice payload;     // without header, extensions and padding
    uint64_t sequence = 0;   // the lane's own, of its track: goes on over a change of publisher; never 0
    int64_t came_us = 0;     // monotonic
    uint32_t timestamp = 0;  // the lane's own, of its track, as on the wire: it wraps (RtpLane::ticks())
    uint8_t track = 0;       // its place in RtpLane::tracks()
    bool marker = false;
    bool keyframe = false;
    bool late = false;  // one of a higher sequence had come before
};

struct RtpRingLimits {
    size_t packets = 8192;  // a power of two
    size_t bytes = 16 * 1024 * 1024;
    int64_t history_us = 2'000'000;  // so much is always there to be sent again
    int64_t most_us = 10'000'000;    // and up to so much, for the sake of the newest keyframe
};

class RtpRing {
  public:
    static constexpr size_t kMaxTracks = 4;
    explicit RtpRing(const RtpRingLimits& limits = {});

    // Positions count all packets that ever came. Those in [begin, end) are there.
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    const RtpPacket& at(uint64_t position) const { return slots_[position & (slots_.size() - 1)]; }
    // The packet with that sequence; null: it never came, or is gone.
    const RtpPacket* find(uint8_t track, uint64_t sequence) const;
    // Where the newest access unit begins that a decoder may begin with; nothing: none is there any more.
    std::optional<uint64_t> newest_keyframe() const;

    // Takes a copy of the payload. packet.payload is not read. packet.track < kMaxTracks.
    void append(RtpPacket packet, std::span<const uint8_t> payload);
    // Nobody may begin with what is there of that track: what follows is not coded after it.
    void forget_keyframe(uint8_t track);
    // Nobody may begin with what is there, or be sent it again.
    void clear();

    size_t packets() const { return end_ - begin_; }
    size_t bytes() const { return bytes_; }  // of payload
    // Bytes of allocations. Of the first block the packets in front may be gone, the last one is not full.
    size_t memory() const {
        size_t positions = 0;
        for (const Track& track : tracks_) positions += track.position.size();
        return bytes_ + (block_.empty() ? 0 : 2 * kBlockBytes) + slots_.size() * sizeof(RtpPacket) +
               positions * sizeof(uint32_t);
    }
    uint64_t cut_short() const { return cut_short_; }  // packets that fell out before history_us was over

  private:
    // So that a block is not kept long by a slow stream's last packet; a payload is never larger than a datagram.
    static constexpr size_t kBlockBytes = 32 * 1024;
    static constexpr size_t kFirstSlots = 128;

    base::Slice store(std::span<const uint8_t> payload);
    void trim(int64_t now_us);
    void drop_first();
    void grow();
    void note_start(const RtpPacket& packet);

    struct Track {
        uint64_t unit_begin = 0;  // position of the first packet of unit_timestamp
        uint32_t unit_timestamp = 0;
        bool any = false;
        bool begun = false;              // that unit is one to begin with, and noted as such
        std::vector<uint32_t> position;  // low bits, by sequence
    };
    RtpRingLimits limits_;
    std::vector<RtpPacket> slots_;
    std::array<Track, kMaxTracks> tracks_;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    uint64_t keyframe_ = UINT64_MAX;
    size_t bytes_ = 0;
    uint64_t cut_short_ = 0;
    base::Slice block_;
    uint8_t* free_ = nullptr;  // in block_
    size_t free_bytes_ = 0;
};

}  // namespace live
