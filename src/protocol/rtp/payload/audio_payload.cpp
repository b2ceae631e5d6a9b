#include "protocol/rtp/payload/audio_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/audio_headers.h"

namespace rtp {

using media::Codec;

base::Result<void> AudioPacketizer::packetize(const media::Frame& frame, std::vector<Payload>& out) {
    size_t size = frame.payload.size();
    if (size == 0 || frame.sequence_header) return {};
    if (codec_ == Codec::kOpus) {
        if (size > options_.max_payload)
            return base::fail(base::Code::kProtocol, fmt::format("an Opus packet of {} bytes", size));
        out.push_back({frame.payload, 0, false, false});
        return {};
    }
    size_t count = (size + options_.max_payload - 1) / options_.max_payload;
    size_t step = (size + count - 1) / count;
    for (size_t at = 0; at < size; at += step)
        out.push_back({frame.payload.sub(at, step), static_cast<uint32_t>(at), false, false});
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
