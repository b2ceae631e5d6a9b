#include "service/rtc/publish/video_info.h"

#include "base/bytes.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/vpx.h"
#include "protocol/rtp/payload/nalu_format.h"
#include "protocol/rtp/payload/vpx_payload.h"

namespace service::rtc {

namespace {

using Bytes = std::span<const uint8_t>;
using Info = std::optional<media::VideoInfo>;

Info of_h264_sps(Bytes nalu) {
    auto sps = media::parse_h264_sps(nalu);
    if (!sps) return std::nullopt;
    return media::VideoInfo{.codec = media::Codec::kH264,
                            .profile = std::string(media::h264_profile_name(sps->profile_idc, sps->constraints)),
                            .level = media::h264_level_name(sps->level_idc, sps->constraints),
                            .width = sps->width,
                            .height = sps->height};
}

Info of_hevc_sps(Bytes nalu) {
    auto sps = media::parse_hevc_sps(nalu);
    if (!sps) return std::nullopt;
    return media::VideoInfo{.codec = media::Codec::kHevc,
                            .profile = std::string(media::hevc_profile_name(sps->profile.profile_idc())),
                            .level = media::hevc_level_name(sps->profile.level_idc),
                            .width = sps->width,
                            .height = sps->height};
}

// The first SPS, alone or in an aggregation packet.
Bytes find_sps(const rtp::NaluFormat& format, Bytes payload) {
    const uint8_t type = format.type(payload);
    if (type == format.sps) return payload;
    if (type != format.aggregate) return {};
    base::ByteReader in(payload.subspan(format.header_size));
    while (in.left() > 0) {
        const Bytes nalu = in.bytes(in.u16());
        if (!in.ok() || nalu.empty()) return {};
        if (format.type(nalu) == format.sps) return nalu;
    }
    return {};
}

Info of_vp(media::Codec codec, Bytes payload) {
    const rtp::VpxDescriptor descriptor = rtp::parse_vpx_descriptor(codec, payload);
    if (!descriptor.begins_frame) return std::nullopt;
    const Bytes body = payload.subspan(descriptor.size);
    const auto frame = codec == media::Codec::kVp8 ? media::parse_vp8_frame(body) : media::parse_vp9_frame(body);
    if (!frame || !frame->keyframe) return std::nullopt;
    return media::VideoInfo{.codec = codec,
                            .profile = std::to_string(frame->profile),
                            .level = {},
                            .width = frame->width,
                            .height = frame->height};
}

std::optional<size_t> read_leb128(base::ByteReader& in) {
    size_t value = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
        const uint8_t byte = in.u8();
        value |= size_t{byte & 0x7fu} << shift;
        if (!(byte & 0x80)) return in.ok() ? std::optional(value) : std::nullopt;
    }
    return std::nullopt;
}

Info of_av1_obu(Bytes obu) {
    base::ByteReader in(obu);
    const uint8_t header = in.u8();
    if ((header >> 3 & 15) != media::av1::kSequenceHeader) return std::nullopt;
    if (header & 0x04) in.skip(1);
    if (header & 0x02 && !read_leb128(in)) return std::nullopt;
    if (!in.ok()) return std::nullopt;
    auto sequence = media::parse_av1_sequence(in.rest());
    if (!sequence) return std::nullopt;
    return media::VideoInfo{.codec = media::Codec::kAv1,
                            .profile = std::string(media::av1_profile_name(sequence->profile)),
                            .level = media::av1_level_name(sequence->level_idx),
                            .width = sequence->width,
                            .height = sequence->height};
}

Info of_av1(Bytes payload) {
    base::ByteReader in(payload);
    const uint8_t header = in.u8();
    if (header & 0x80) return std::nullopt;  // its first element began in another packet
    const unsigned count = header >> 4 & 3;
    for (unsigned i = 1; in.left() > 0; ++i) {
        std::optional<size_t> size = i == count ? in.left() : read_leb128(in);
        if (!size || *size > in.left()) return std::nullopt;
        if (auto info = of_av1_obu(in.rest().first(*size))) return info;
        in.skip(*size);
    }
    return std::nullopt;
}

}  // namespace

std::optional<media::VideoInfo> video_info(media::Codec codec, std::span<const uint8_t> payload) {
    if (payload.empty()) return std::nullopt;
    switch (codec) {
        case media::Codec::kH264:
            return of_h264_sps(find_sps(rtp::kH264Format, payload));
        case media::Codec::kHevc:
            return of_hevc_sps(find_sps(rtp::kHevcFormat, payload));
        case media::Codec::kVp8:
        case media::Codec::kVp9:
            return of_vp(codec, payload);
        case media::Codec::kAv1:
            return of_av1(payload);
        default:
            return std::nullopt;
    }
}

}  // namespace service::rtc
