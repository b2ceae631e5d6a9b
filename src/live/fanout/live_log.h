#pragma once
// LiveLog: the append-only log of one stream in one wire format, encoded once for all its viewers. It knows where its
// packets begin, and the start points of new viewers. It exists while it has a viewer. Offsets count bytes from the
// log's beginning and only grow. Its size is bounded by the queue length, by PacketIndex::kMaxBytes, and by its
// stream's memory limit. For few viewers it does not keep the GOP, which the stream holds as frames: a new viewer gets
// a copy.

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/flat_queue.h"
#include "live/fanout/audience.h"
#include "live/fanout/delivery.h"
#include "live/fanout/packet_index.h"
#include "live/fanout/wire_encoder.h"

namespace live {

class Stream;

class LiveLog {
  public:
    // The share of the stream's memory limit for shared copies of the GOP.
    static constexpr size_t kCopiesShare = 4;
    // For more viewers the log keeps the GOP.
    static constexpr size_t kFewViewers = 8;
    // How long after a publication's beginning new viewers wait for tracks that it has announced.
    static constexpr int64_t kTracksWaitMs = 1'000;

    // A start point: a packet at which a decoder can begin.
    struct Start {
        uint64_t offset;
        media::Time dts;
        base::Ref<media::TrackSet> tracks;
        uint32_t encoder_state;  // WireEncoder::save_start_state()
        base::Slice prefix[2];   // made on first use: [0] after a jump, [1] for a new viewer
    };

    LiveLog(Stream& stream, LogKey key, std::unique_ptr<WireEncoder> encoder);
    LiveLog(const LiveLog&) = delete;

    // tracks: the tracks at this frame. now_us: the loop's clock.
    void append(const media::Frame& frame, const base::Ref<media::TrackSet>& tracks, int64_t now_us);
    // No viewer may begin before the next packet: the publisher left, or the GOP has grown too long. Waiting viewers
    // that could have begun do so now.
    void forget_starts();

    const LogKey& key() const { return key_; }
    Stream& stream() { return stream_; }
    Audience& audience() { return audience_; }
    uint64_t tail() const { return blocks_.empty() ? head() : blocks_.front().begin; }
    uint64_t head() const { return packets_.head(); }
    const PacketIndex& packets() const { return packets_; }

    // The start of a new viewer: the newest keyframe, or audio_cache_ms back in a stream without video; null when there
    // is none.
    Start* start_for_new_viewer(int64_t audio_cache_ms);
    // Whether a viewer's first prefix has to wait for tracks (WireEncoder::awaits_tracks()).
    bool awaits_tracks();
    // Whether a new viewer may begin with a copy of the stream's GOP, and continue at head().
    bool can_copy_gop() const;
    // The GOP with its prefix, made anew, if can_copy_gop(). first: see prefix(). Of the frames before stop only.
    base::Slice gop_copy(bool first, media::Time stop);
    // The whole GOP, one for all who join between two packets. Empty: slow viewers hold too many already.
    base::Slice shared_gop_copy();
    // The first start at or after the offset; null when there is none yet.
    Start* next_start(uint64_t offset);
    // Instead of that one, while the stream holds its GOP; null: it begins with a copy, or with what comes next.
    Start* start_of_held_gop();
    Start* newest_start() { return starts_.empty() ? nullptr : &starts_.back(); }
    const base::Slice& prefix(Start& start, bool first);
    // The tracks known to a viewer at this offset; null when the log does not have them any more.
    const media::TrackSet* tracks_at(uint64_t offset) const;

    // The contiguous bytes at offset, at most up to end. offset < end <= head().
    std::span<const uint8_t> contiguous(uint64_t offset, uint64_t end) const;
    base::Slice copy(uint64_t offset, uint64_t end) const;
    // Releases whole blocks before the offset.
    void trim(uint64_t keep_from);
    // The first offset kept for new viewers.
    uint64_t begin_offset();
    // Viewers before the offset jump, and the bytes before it are released.
    void release_before(uint64_t offset);
    // Bytes of allocations.
    size_t memory() const;

  private:
    struct Block {
        uint64_t begin;
        size_t used;
        size_t capacity;  // Delivery::kBlockBytes, or that of a larger packet
        Delivery::BlockBytes bytes;
        uint64_t end() const { return begin + used; }
    };
    uint8_t* reserve(size_t bytes);
    void release_first_block();
    const Block& block_of(uint64_t offset) const;
    bool is_start(const media::Frame& frame) const;
    void set_interval();

    Stream& stream_;
    LogKey key_;
    std::unique_ptr<WireEncoder> encoder_;
    base::Ref<media::TrackSet> encoder_tracks_;  // the tracks last passed to the encoder
    size_t block_bytes_ = 0;                     // of all blocks
    base::FlatQueue<Block> blocks_;              // without gaps: each begins where the one before ends
    PacketIndex packets_;
    std::deque<Start> starts_;
    base::Ref<media::TrackSet> tail_tracks_;  // of the last start that was released
    std::vector<base::Slice> copies_;         // shared ones that viewers have still to send
    uint64_t copied_at_ = 0;                  // the offset at which the newest was made
    Audience audience_;
};

}  // namespace live
