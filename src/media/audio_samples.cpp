// audio_frame_samples() of audio_headers.h.

#include "media/audio_headers.h"

namespace media {

namespace {

using Bytes = std::span<const uint8_t>;

// Decodes the block size code in a frame's header (RFC 9639, 9.1.1).
uint32_t flac_samples(Bytes frame) {
    if (frame.size() < 4 || frame[0] != 0xff || (frame[1] & 0xfc) != 0xf8) return 0;
    uint32_t code = frame[2] >> 4;
    if (code == 1) return 192;
    if (code >= 2 && code <= 5) return 576u << (code - 2);
    if (code >= 8) return 256u << (code - 8);
    // The explicit size follows the number of the frame or sample, which is coded like UTF-8.
    size_t at = 5;
    for (uint8_t lead = frame.size() > 4 ? frame[4] : 0; (lead & 0xc0) == 0xc0; lead = static_cast<uint8_t>(lead << 1))
        ++at;
    if (code == 6 && at < frame.size()) return frame[at] + 1u;
    if (code == 7 && at + 1 < frame.size()) return frame[at] * 256u + frame[at + 1] + 1;
    return 0;
}

}  // namespace

uint32_t audio_frame_samples(Codec codec, Bytes frame) {
    switch (codec) {
        case Codec::kMp3: {
            auto header = parse_mpeg_audio(frame);
            return header ? static_cast<uint32_t>(header->samples) : 0;
        }
        case Codec::kOpus: {
            auto packet = parse_opus_packet(frame);
            return packet ? static_cast<uint32_t>(packet->duration_us) * 48 / 1000 : 0;
        }
        case Codec::kFlac:
            return flac_samples(frame);
        case Codec::kAc3:
            return 1536;
        case Codec::kEac3: {
            if (frame.size() < 5) return 0;
            constexpr uint32_t kBlocks[] = {1, 2, 3, 6};
            return (frame[4] >> 6 == 3 ? 6 : kBlocks[frame[4] >> 4 & 3]) * 256;
        }
        default:
            return 0;
    }
}

}  // namespace media
