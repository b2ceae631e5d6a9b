#pragma once
// RtpSkimmer: follows the RTP packets of one player's tracks (RFC 3550, 5.1) without keeping them, so that thousands of
// players cost the load side little. It checks that they are RTP, follows their sequence numbers, and reports each
// access unit when its last packet has arrived: a packet with the marker.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "load/media_sink.h"

namespace load {

// Bytes of a packet's beginning that are looked at.
inline constexpr size_t kPacketHeadBytes = 96;

class RtpSkimmer {
  public:
    static constexpr size_t kMaxTracks = 4;

    // is_h264: the beginning of its access units is reported, for mark_of(). False: there are kMaxTracks already.
    bool add_track(bool is_video, uint32_t clock_rate, bool is_h264 = false);
    size_t tracks() const { return count_; }

    // head: the first bytes of the packet, kPacketHeadBytes or all. size: of the whole packet. track < tracks(). An
    // error is final: it is no RTP packet.
    base::Result<void> packet(size_t track, std::span<const uint8_t> head, size_t size, MediaSink& sink);

  private:
    struct Track {
        bool is_video = true;
        bool is_h264 = false;
        bool has_slice = false;  // of the unit under way: head has the beginning of a slice
        uint32_t clock_rate = 90'000;
        std::optional<uint16_t> next{};  // sequence number; nothing: no packet yet
        uint32_t unit_bytes = 0;         // of payload, of the unit under way
        uint8_t head_size = 0;
        std::array<uint8_t, kHeadBytes> head{};
    };
    static int count_missing(Track& track, uint16_t sequence);
    static void keep_head(Track& track, std::span<const uint8_t> payload);

    std::array<Track, kMaxTracks> tracks_;
    uint8_t count_ = 0;
};

}  // namespace load
