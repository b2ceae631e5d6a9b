#pragma once
// Splits frames into RTP payloads, one packetizer per track: H.264 (RFC 6184: single NAL units, STAP-A, FU-A), HEVC
// (RFC 7798: single, AP, FU), AV1 (the AV1 RTP payload specification), VP8 (RFC 7741), VP9 (RFC 9628), Opus (RFC 7587),
// G.711 (RFC 3551, 4.5.14), AAC (RFC 3640, AAC-hbr), MP3 (RFC 2250). The fragments of a NAL unit (of a frame, for
// codecs without NAL units) have the same size, except that the last may be shorter: so a burst of them can be one UDP
// GSO send. It does not create RTP headers, sequence numbers or timestamps.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/frame.h"

namespace rtp {

inline constexpr size_t kMaxPayload = 1160;  // bytes: an IP packet of 1,232 with UDP, RTP, extensions and an SRTP tag

// A payload in the buffer that write() appended it to.
struct PayloadSpan {
    size_t begin = 0, end = 0;  // offsets in the buffer; PacketizerOptions::headroom unwritten bytes are before `begin`
    uint32_t timestamp_offset = 0;
    bool marker = false;
};

struct PacketizerOptions {
    size_t max_payload = kMaxPayload;  // bytes, at least 64
    size_t headroom = 0;               // bytes that write() leaves before each payload, for headers
    // Small slices share a packet. Parameter sets and SEI always share the packet of what follows them.
    bool merge_nalus = false;
    bool keep_sei = true;  // H.264 and HEVC: SEI is forwarded
    // H.264: no packet has several NAL units or a part of one; one that is too long is an error.
    bool single_nalus = false;
};

class Packetizer {
  public:
    virtual ~Packetizer() = default;
    // The sequence header, used from the next frame on. A codec without one accepts anything.
    virtual base::Result<void> set_header(const media::Frame& header) = 0;
    // Appends the payloads of a frame to the caller's buffer; none when it contains nothing to send. After an error (a
    // malformed frame, or a missing sequence header) both are unchanged.
    base::Result<void> write(const media::Frame& frame, base::SliceBuilder& out, std::vector<PayloadSpan>& spans);

  protected:
    explicit Packetizer(const PacketizerOptions& options) : options_(options) {}
    // Writes by begin_payload() and end_payload(). After an error what it has written is removed.
    virtual base::Result<void> write_payloads(const media::Frame& frame) = 0;

    // Makes room for this many bytes in `payloads` payloads.
    void reserve(size_t bytes, size_t payloads);
    void begin_payload() {
        out_->extend(options_.headroom);
        spans_->push_back({out_->size(), 0, 0, false});
    }
    void end_payload(uint32_t timestamp_offset = 0) {
        spans_->back().end = out_->size();
        spans_->back().timestamp_offset = timestamp_offset;
    }
    void append(std::span<const uint8_t> bytes) { out_->append(bytes); }
    uint8_t* extend(size_t bytes) { return out_->extend(bytes); }
    // The first byte of the payload that was begun last.
    uint8_t& first_byte() { return out_->data()[spans_->back().begin]; }
    void set_marker() { spans_->back().marker = true; }

    PacketizerOptions options_;

  private:
    base::SliceBuilder* out_ = nullptr;  // during write_payloads()
    std::vector<PayloadSpan>* spans_ = nullptr;
};

// Null for a codec without an RTP payload format here.
std::unique_ptr<Packetizer> make_packetizer(media::Codec codec, const PacketizerOptions& options);

}  // namespace rtp
