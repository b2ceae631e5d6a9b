#include "protocol/rtp/payload/audio_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/audio_headers.h"

namespace rtp {

using media::Codec;

base::Result<size_t> AudioPacketizer::part_size(const media::Frame& frame) const {
    const size_t size = frame.payload.size(), most = options_.max_payload;
    if (frame.sequence_header) return size_t{0};
    if (size <= most) return size;
    if (codec_ == Codec::kOpus)
        return base::fail(base::Code::kProtocol, fmt::format("an Opus packet of {} bytes", size));
    size_t count = (size + most - 1) / most;
    return (size + count - 1) / count;
}

base::Result<void> AudioPacketizer::write_payloads(const media::Frame& frame) {
    const size_t step = TRY(part_size(frame));
    for (size_t at = 0; step > 0 && at < frame.payload.size(); at += step) {
        begin_payload();
        append(frame.payload.bytes().subspan(at, std::min(step, frame.payload.size() - at)));
        end_payload(static_cast<uint32_t>(at));
    }
    return {};
}

media::Frame AudioDepacketizer::frame_of(std::span<const uint8_t> payload) const {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = codec_;
    frame.payload = base::Slice::copy(payload);
    return frame;
}

void AudioDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.payload.empty()) return;
    if (codec_ == Codec::kOpus) {
        if (!media::parse_opus_packet(packet.payload)) {
            ++counters_.malformed;
            return;
        }
        if (!header_sent_) {
            media::Frame header;
            header.kind = media::Kind::kAudio;
            header.codec = codec_;
            header.sequence_header = true;
            header.payload = media::make_opus_head(channels_, 0, 48000);
            out.push_back({std::move(header), packet.timestamp});
            header_sent_ = true;
        }
    }
    out.push_back({frame_of(packet.payload), packet.timestamp});
}

}  // namespace rtp
