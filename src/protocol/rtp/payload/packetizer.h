#pragma once
// Frames into RTP payloads, one packetizer per track: H.264 (RFC 6184: single NAL units, STAP-A, FU-A), HEVC (RFC 7798:
// single, AP, FU), AV1 (the AV1 RTP payload specification), VP8 (RFC 7741), VP9 (RFC 9628), Opus (RFC 7587), G.711
// (RFC 3551, 4.5.14). Within a frame the fragments of a NAL unit (of the frame, where there are none) have one size,
// the last may be shorter: so a burst of them is one UDP GSO send. It makes no RTP headers, sequence numbers or
// timestamps.

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
    uint32_t timestamp_offset = 0;  // ticks after the frame's time: of audio that was cut
    bool marker = false;
    bool keyframe = false;  // the first payload of a frame at which decoding can start, with what it needs
};

struct PacketizerOptions {
    size_t max_payload = kMaxPayload;  // bytes, at least 64
    // Small slices share a packet. Parameter sets and supplemental information always share that of what follows them.
    bool merge_nalus = false;
    bool keep_sei = true;  // H.264 and HEVC: supplemental information is sent on
};

class Packetizer {
  public:
    virtual ~Packetizer() = default;
    // The sequence header in force from the next frame on. A codec without one takes anything.
    virtual base::Result<void> set_header(const media::Frame& header) = 0;
    // Appends the payloads of a frame; none when nothing of it is worth sending. An error (a malformed frame, or one
    // that needs the sequence header which has not come) leaves `out` as it was.
    virtual base::Result<void> packetize(const media::Frame& frame, std::vector<Payload>& out) = 0;
};

// Null for a codec that has no RTP payload here.
std::unique_ptr<Packetizer> make_packetizer(media::Codec codec, const PacketizerOptions& options);

}  // namespace rtp
