#pragma once
// InterleavedSkimmer: follows the interleaved frames of an RTSP connection (RFC 2326, 10.12) on which nothing else
// comes any more. A frame's channel must be one of a track that was set up.

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "load/rtp_skimmer.h"

namespace load {

class InterleavedSkimmer {
  public:
    // By default track 0 has channels 0 and 1, track 1 has 2 and 3, and so on. track < RtpSkimmer::kMaxTracks.
    void set_channels(size_t track, uint8_t rtp, uint8_t rtcp) { channels_[track] = {rtp, rtcp}; }
    RtpSkimmer& rtp() { return rtp_; }

    // An error is final.
    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink);
    // A frame without its header; head: its first kPacketHeadBytes, or all.
    base::Result<void> frame(uint8_t channel, std::span<const uint8_t> head, size_t size, MediaSink& sink);

  private:
    static constexpr size_t kHeaderBytes = 4;
    struct Channels {
        uint8_t rtp, rtcp;
    };
    base::Result<size_t> go_on(std::span<const uint8_t> bytes, MediaSink& sink);

    RtpSkimmer rtp_;
    std::array<Channels, RtpSkimmer::kMaxTracks> channels_{{{0, 1}, {2, 3}, {4, 5}, {6, 7}}};
    // Of a frame whose end has not come: its header, and the beginning of what follows.
    std::array<uint8_t, kHeaderBytes + kPacketHeadBytes> cut_{};
    uint32_t have_ = 0;  // bytes of it in all
};

}  // namespace load
