#pragma once
// Splits frames into RTP payloads, one packetizer per track: H.264 (RFC 6184: single NAL units, STAP-A, FU-A), HEVC
// (RFC 7798: single, AP, FU), AV1 (the AV1 RTP payload specification), VP8 (RFC 7741), VP9 (RFC 9628), Opus (RFC 7587),
// G.711 (RFC 3551, 4.5.14). The fragments of a NAL unit (of a frame, for codecs without NAL units) have the same size,
// except that the last may be shorter: so a burst of them can be one UDP GSO send. It does not create RTP headers,
// sequence numbers or timestamps.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/frame.h"

namespace rtp {

inline constexpr size_t kMaxPayload = 1160;  // bytes: an IP packet of 1,232 with UDP, RTP, extensions and an SRTP tag

struct Payload {
    base::Slice bytes;              // the payloads of a frame share one buffer
    uint32_t timestamp_offset = 0;  // ticks after the frame's time: for audio that was split
    bool marker = false;
    bool keyframe = false;  // the first payload of a frame where decoding can start, with its headers
};

struct PacketizerOptions {
    size_t max_payload = kMaxPayload;  // bytes, at least 64
    // Small slices share a packet. Parameter sets and SEI always share the packet of what follows them.
    bool merge_nalus = false;
    bool keep_sei = true;  // H.264 and HEVC: SEI is forwarded
};

class Packetizer {
  public:
    virtual ~Packetizer() = default;
    // The sequence header, used from the next frame on. A codec without one accepts anything.
    virtual base::Result<void> set_header(const media::Frame& header) = 0;
    // Appends the payloads of a frame; none when it contains nothing to send. An error (a malformed frame, or a missing
    // sequence header) leaves `out` unchanged.
    virtual base::Result<void> packetize(const media::Frame& frame, std::vector<Payload>& out) = 0;
};

// Null for a codec without an RTP payload format here.
std::unique_ptr<Packetizer> make_packetizer(media::Codec codec, const PacketizerOptions& options);

}  // namespace rtp
