#pragma once
// Assembles RTP payloads into frames, one depacketizer per track; the formats are those of packetizer.h. The caller
// passes packets in sequence order and marks gaps. A frame with a gap inside is dropped, so every frame returned is
// complete. Whether a frame refers to a lost one is not checked here: after a gap the caller waits for a keyframe.
// Sequence headers (AVCDecoderConfigurationRecord, HEVC's, AV1's, OpusHead, AudioSpecificConfig) are built from in-band
// data and returned before the first frame that needs them. It does not reorder packets and has no clock.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "media/frame.h"
#include "protocol/rtp/payload/format.h"

namespace rtp {

struct DepacketizerPacket {
    std::span<const uint8_t> payload;  // without RTP padding; may be empty (a probe): ignored
    uint32_t timestamp = 0;
    bool marker = false;
    bool after_hole = false;  // packets between the previous one and this one were lost
};

struct Unit {
    // dts and cts are 0: the caller determines the time.
    media::Frame frame;
    uint32_t timestamp = 0;  // of RTP
};

struct DepacketizerCounters {
    uint64_t malformed = 0;    // payloads
    uint64_t damaged = 0;      // frames dropped: a part was lost, malformed, or over the limits
    uint64_t undecodable = 0;  // frames dropped: no parameter sets received
    // What is wrong with the last malformed payload, "interleaved access units"; empty: not known. A constant.
    std::string_view defect{};
};

class Depacketizer {
  public:
    static constexpr size_t kMaxUnit = 8 * 1024 * 1024;  // bytes of one frame
    virtual ~Depacketizer() = default;
    // Appends the frames that are complete now.
    virtual void push(const DepacketizerPacket& packet, std::vector<Unit>& out) = 0;
    // Sets parameter sets that were signalled out of band: they are used until others arrive. Sets that do not make one
    // valid sequence header are ignored.
    virtual void know(std::span<const std::vector<uint8_t>>) {}
    // Bytes of allocations for the unit in progress. What stays for the next one, up to 1 MB, does not count.
    virtual size_t memory() const { return 0; }
    // Gives up the unit in progress, as after a loss, and releases its memory.
    virtual void drop() {}
    const DepacketizerCounters& counters() const { return counters_; }

  protected:
    DepacketizerCounters counters_;
};

// Null for a codec without an RTP payload format here.
std::unique_ptr<Depacketizer> make_depacketizer(const PayloadFormat& format);

}  // namespace rtp
