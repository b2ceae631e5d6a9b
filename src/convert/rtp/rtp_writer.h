#pragma once
// RtpWriter: one track's frames as whole RTP packets with numbers of its own, for services that send RTP without the
// stream's RtpLane: RTSP players, RTSP servers that the stream is forwarded to. Packets are written one behind the
// other into the caller's buffer; no memory is allocated per packet. Pure: it has no clock and sends nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/track_set.h"
#include "protocol/rtcp/packet.h"
#include "protocol/rtp/payload/format.h"
#include "protocol/rtp/payload/packetizer.h"

namespace convert {

inline constexpr size_t kInterleavedHeaderSize = 4;

struct RtpWriterOptions {
    rtp::PayloadFormat format;  // sdp::SessionTrack has it
    uint8_t payload_type = 96;
    uint32_t ssrc = 0;
    uint16_t sequence = 0;     // of the first packet
    uint32_t timestamp = 0;    // that stands for time 0
    size_t max_packet = 1200;  // bytes with the RTP header, 128 to 65,535; the fragments of a frame have the same size
    bool keep_sei = true;      // H.264 and HEVC
    // RTP over RTSP (RFC 2326, 10.12): each packet follows '$', this channel, and its length. Nothing: plain packets.
    std::optional<uint8_t> channel;
};

// A packet in the caller's buffer.
struct WrittenPacket {
    size_t begin = 0;  // offsets, with the interleaved header
    size_t end = 0;
    bool marker = false;
    bool keyframe = false;  // the first packet of a frame where decoding can start
};

class RtpWriter {
  public:
    // kProtocol: RTP does not carry the codec, or the track's decoder configuration is malformed.
    static base::Result<RtpWriter> make(const media::Track& track, const RtpWriterOptions& options);

    // A sequence header, used from the next frame on.
    base::Result<void> set_header(const media::Frame& header);
    // Appends the packets of a frame of this track to `out`, and their positions to `packets`: none of a frame that has
    // nothing to send. An error (a malformed frame, a missing sequence header, a NAL unit that does not fit) leaves
    // both unchanged.
    base::Result<void> write(const media::Frame& frame, base::SliceBuilder& out, std::vector<WrittenPacket>& packets);
    // The same with a payload that is there: one packet, with a marker.
    void write_payload(media::Time pts, std::span<const uint8_t> payload, base::SliceBuilder& out,
                       std::vector<WrittenPacket>& packets);

    // The timestamp of a presentation time, for RTP-Info.
    uint32_t timestamp(media::Time time) const;
    uint16_t next_sequence() const { return sequence_; }
    // A report that says that `ntp` is the moment of `time`: the same relation in all tracks keeps them in step.
    rtcp::SenderReport sender_report(uint64_t ntp, media::Time time) const;

  private:
    RtpWriter(const RtpWriterOptions& options, std::unique_ptr<rtp::Packetizer> packetizer);
    size_t headroom() const { return rtp::kFixedHeaderSize + (options_.channel ? kInterleavedHeaderSize : 0); }
    void write_header(uint8_t* header, size_t payload, bool marker, uint32_t timestamp);

    RtpWriterOptions options_;
    std::unique_ptr<rtp::Packetizer> packetizer_;
    uint16_t sequence_;
    uint32_t packets_ = 0;
    uint32_t octets_ = 0;
    std::vector<rtp::PayloadSpan> spans_;  // kept to reuse its memory
};

}  // namespace convert
