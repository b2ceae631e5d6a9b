#include "protocol/rtp/payload/aac_payload.h"
#include "protocol/rtp/payload/audio_payload.h"
#include "protocol/rtp/payload/av1_payload.h"
#include "protocol/rtp/payload/latm_payload.h"
#include "protocol/rtp/payload/mpeg_audio_payload.h"
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
        case Codec::kAac:
            return std::make_unique<AacPacketizer>(options);
        case Codec::kMp3:
            return std::make_unique<MpegAudioPacketizer>(options);
        default:
            return nullptr;
    }
}

std::unique_ptr<Depacketizer> make_depacketizer(const PayloadFormat& format) {
    switch (format.codec) {
        case Codec::kH264:
        case Codec::kHevc:
            return std::make_unique<NaluDepacketizer>(format.codec);
        case Codec::kAv1:
            return std::make_unique<Av1Depacketizer>();
        case Codec::kVp8:
        case Codec::kVp9:
            return std::make_unique<VpxDepacketizer>(format.codec);
        case Codec::kOpus:
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            return std::make_unique<AudioDepacketizer>(format.codec, format.channels);
        case Codec::kAac:
            if (format.latm) return std::make_unique<LatmDepacketizer>(format);
            return std::make_unique<AacDepacketizer>(format);
        case Codec::kMp3:
            return std::make_unique<MpegAudioDepacketizer>(format.clock_rate);
        default:
            return nullptr;
    }
}

}  // namespace rtp
