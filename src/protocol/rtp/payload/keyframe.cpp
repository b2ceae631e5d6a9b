#include "protocol/rtp/payload/keyframe.h"

#include "base/bytes.h"
#include "protocol/rtp/payload/av1_payload.h"
#include "protocol/rtp/payload/nalu_format.h"
#include "protocol/rtp/payload/vpx_payload.h"

namespace rtp {
namespace {

using Bytes = std::span<const uint8_t>;

bool nalu_begins(const NaluFormat& format, uint8_t type) {
    return format.is_random(type) || type == format.sps || (format.vps && type == format.vps);
}

// Whether such a NAL unit begins in the payload.
bool nalu_payload(const NaluFormat& format, Bytes payload) {
    uint8_t type = format.type(payload);
    if (type == format.fragment) {
        if (payload.size() < format.fragment_header_size()) return false;
        uint8_t flags = payload[format.header_size];
        return flags & 0x80 && nalu_begins(format, flags & (format.header_size == 1 ? 0x1f : 0x3f));
    }
    if (type != format.aggregate) return type <= format.max_single && nalu_begins(format, type);
    base::ByteReader r(payload.subspan(format.header_size));
    while (r.left() > 0) {
        Bytes nalu = r.bytes(r.u16());
        if (!r.ok()) return false;
        if (!nalu.empty() && nalu_begins(format, format.type(nalu))) return true;
    }
    return false;
}

// The first bit of a VP8 frame is 0 for a keyframe; for VP9 the descriptor of the lowest layer shows it.
bool vpx_payload(media::Codec codec, Bytes payload) {
    VpxDescriptor descriptor = parse_vpx_descriptor(codec, payload);
    if (!descriptor.begins_picture) return false;
    return codec == media::Codec::kVp8 ? !(payload[descriptor.size] & 1) : !descriptor.inter_predicted;
}

}  // namespace

bool is_keyframe(media::Codec codec, Bytes payload) {
    switch (codec) {
        case media::Codec::kH264:
            return nalu_payload(kH264Format, payload);
        case media::Codec::kHevc:
            return nalu_payload(kHevcFormat, payload);
        case media::Codec::kAv1:
            return begins_av1_sequence(payload);
        case media::Codec::kVp8:
        case media::Codec::kVp9:
            return vpx_payload(codec, payload);
        default:
            return media::codec_info(codec).kind == media::Kind::kAudio;
    }
}

}  // namespace rtp
