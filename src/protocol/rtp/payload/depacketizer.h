#pragma once
// RTP payloads into frames, one depacketizer per track; the formats are those of packetizer.h. Packets are handed in by
// order of sequence number, and holes are told of: what was hit by one is dropped, so no frame that comes out has one
// inside. Whether a frame refers to one that was lost is for the caller to know: after a hole it waits for a keyframe.
// Sequence headers (AVCDecoderConfigurationRecord, HEVC's, AV1's, OpusHead) are made of what stands in band and come
// before the first frame that needs them. It does not order packets and knows no clock.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/frame.h"

namespace rtp {

struct DepacketizerPacket {
    std::span<const uint8_t> payload;  // without RTP padding; may be empty (a probe): ignored
    uint32_t timestamp = 0;
    bool marker = false;
    bool after_hole = false;  // packets between the one before and this one were lost
};

struct Unit {
    // dts and cts are 0: the caller knows the time.
    media::Frame frame;
    uint32_t timestamp = 0;  // RTP's
};

struct DepacketizerCounters {
    uint64_t malformed = 0;    // payloads
    uint64_t damaged = 0;      // frames that were dropped: a part was lost, malformed, or over the limits
    uint64_t undecodable = 0;  // frames that were dropped: no parameter sets have come
};

class Depacketizer {
  public:
    static constexpr size_t kMaxUnit = 8 * 1024 * 1024;  // bytes of one frame
    virtual ~Depacketizer() = default;
    // Appends the frames that are complete now.
    virtual void push(const DepacketizerPacket& packet, std::vector<Unit>& out) = 0;
    // Parameter sets that were told outside of the packets: they hold until others come. Those that cannot be one
    // sequence header are passed over.
    virtual void know(std::span<const std::vector<uint8_t>>) {}
    const DepacketizerCounters& counters() const { return counters_; }

  protected:
    DepacketizerCounters counters_;
};

// channels: of audio, as the session description says. Null for a codec that has no RTP payload here.
std::unique_ptr<Depacketizer> make_depacketizer(media::Codec codec, int channels = 2);

}  // namespace rtp
