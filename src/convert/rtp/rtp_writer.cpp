#include "convert/rtp/rtp_writer.h"

#include <utility>

namespace convert {

using base::Code;
using base::fail;
using base::Result;

RtpWriter::RtpWriter(const RtpWriterOptions& options, std::unique_ptr<rtp::Packetizer> packetizer)
    : options_(options), packetizer_(std::move(packetizer)), sequence_(options.sequence) {}

Result<RtpWriter> RtpWriter::make(const media::Track& track, const RtpWriterOptions& options) {
    CHECK(options.max_packet >= 128 && options.max_packet <= 0xffff && options.format.clock_rate > 0);
    rtp::PacketizerOptions packing;
    packing.max_payload = options.max_packet - rtp::kFixedHeaderSize;
    packing.headroom = rtp::kFixedHeaderSize + (options.channel ? kInterleavedHeaderSize : 0);
    packing.keep_sei = options.keep_sei;
    packing.single_nalus = options.format.single_nalus;
    auto packetizer = rtp::make_packetizer(track.codec, packing);
    if (!packetizer)
        return fail(Code::kProtocol, std::string(media::codec_info(track.codec).name) + ": RTP does not carry it");
    RtpWriter writer(options, std::move(packetizer));
    if (track.config()) TRY(writer.set_header(*track.config()));
    return writer;
}

Result<void> RtpWriter::set_header(const media::Frame& header) { return packetizer_->set_header(header); }

Result<void> RtpWriter::write(const media::Frame& frame, base::SliceBuilder& out, std::vector<WrittenPacket>& packets) {
    spans_.clear();
    TRY(packetizer_->write(frame, out, spans_));
    const uint32_t time = timestamp(frame.pts());
    bool keyframe = frame.keyframe;
    for (const rtp::PayloadSpan& span : spans_) {
        write_header(out.data() + span.begin - rtp::kFixedHeaderSize, span.end - span.begin, span.marker,
                     time + span.timestamp_offset);
        packets.push_back({span.begin - headroom(), span.end, span.marker, std::exchange(keyframe, false)});
    }
    return {};
}

void RtpWriter::write_payload(media::Time pts, std::span<const uint8_t> payload, base::SliceBuilder& out,
                              std::vector<WrittenPacket>& packets) {
    const size_t begin = out.size();
    write_header(out.extend(headroom()) + headroom() - rtp::kFixedHeaderSize, payload.size(), true, timestamp(pts));
    out.append(payload);
    packets.push_back({begin, out.size(), true, false});
}

// The next packet's header, and that of its interleaved frame before it.
void RtpWriter::write_header(uint8_t* header, size_t payload, bool marker, uint32_t timestamp) {
    rtp::write_header(header, {marker, options_.payload_type, sequence_++, timestamp, options_.ssrc});
    if (options_.channel) {
        header[-4] = '$';
        header[-3] = *options_.channel;
        base::put_u16(header - 2, static_cast<uint32_t>(payload + rtp::kFixedHeaderSize));
    }
    ++packets_;
    octets_ += static_cast<uint32_t>(payload);
}

uint32_t RtpWriter::timestamp(media::Time time) const {
    return options_.timestamp + static_cast<uint32_t>(media::to_ticks(time, options_.format.clock_rate));
}

rtcp::SenderReport RtpWriter::sender_report(uint64_t ntp, media::Time time) const {
    return {options_.ssrc, ntp, timestamp(time), packets_, octets_};
}

}  // namespace convert
