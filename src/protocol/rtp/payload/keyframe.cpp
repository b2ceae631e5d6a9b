#include "protocol/rtp/payload/keyframe.h"

#include "base/bytes.h"
#include "protocol/rtp/payload/nalu_format.h"

namespace rtp {
namespace {

using Bytes = std::span<const uint8_t>;

bool nalu_begins(const NaluFormat& format, uint8_t type) {
    return format.is_random(type) || type == format.sps || (format.vps && type == format.vps);
}

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

}  // namespace

bool is_keyframe(media::Codec codec, Bytes payload) {
    switch (codec) {
        case media::Codec::kH264:
            return nalu_payload(kH264Format, payload);
        case media::Codec::kHevc:
            return nalu_payload(kHevcFormat, payload);
        default:
            return media::codec_info(codec).kind == media::Kind::kAudio;
    }
}

}  // namespace rtp
