#include "protocol/rtp/payload/audio_payload.h"
#include "protocol/rtp/payload/av1_payload.h"
#include "protocol/rtp/payload/nalu_depacketizer.h"
#include "protocol/rtp/payload/nalu_packetizer.h"
#include "protocol/rtp/payload/vpx_payload.h"

namespace rtp {

using media::Codec;

std::unique_ptr<Packetizer> make_packetizer(Codec codec, const PacketizerOptions& options) {
    switch (codec) {
        case Codec::kH264:
        case Codec::kHevc:
            return std::make_unique<NaluPacketizer>(codec, options);
        case Codec::kAv1:
            return std::make_unique<Av1Packetizer>(options);
        case Codec::kVp8:
        case Codec::kVp9:
            return std::make_unique<VpxPacketizer>(codec, options);
        case Codec::kOpus:
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            return std::make_unique<AudioPacketizer>(codec, options);
        default:
            return nullptr;
    }
}

std::unique_ptr<Depacketizer> make_depacketizer(Codec codec, int channels) {
    switch (codec) {
        case Codec::kH264:
        case Codec::kHevc:
            return std::make_unique<NaluDepacketizer>(codec);
        case Codec::kAv1:
            return std::make_unique<Av1Depacketizer>();
        case Codec::kVp8:
        case Codec::kVp9:
            return std::make_unique<VpxDepacketizer>(codec);
        case Codec::kOpus:
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            return std::make_unique<AudioDepacketizer>(codec, channels);
        default:
            return nullptr;
    }
}

}  // namespace rtp
