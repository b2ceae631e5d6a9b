#include "service/rtc/publish/video_info.h"

#include "base/bytes.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/vpx.h"
#include "protocol/rtp/packet.h"

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

// The first NAL unit of the wanted type, alone or in an aggregation packet, whose own type is `aggregation`.
Bytes find_nalu(Bytes payload, uint8_t wanted, uint8_t aggregation, size_t header, uint8_t (*type_of)(Bytes)) {
    if (type_of(payload) == wanted) return payload;
    if (type_of(payload) != aggregation) return {};
    for (size_t at = header; at + 2 < payload.size();) {
        const size_t size = rtp::get_u16(&payload[at]);
        at += 2;
        if (size == 0 || size > payload.size() - at) return {};
        const Bytes nalu = payload.subspan(at, size);
        if (type_of(nalu) == wanted) return nalu;
        at += size;
    }
    return {};
}

Info of_vp(media::Codec codec, const base::Result<media::VpFrame>& frame) {
    if (!frame || !frame->keyframe) return std::nullopt;
    return media::VideoInfo{.codec = codec,
                            .profile = std::to_string(frame->profile),
                            .level = {},
                            .width = frame->width,
                            .height = frame->height};
}

// Removes the payload descriptor; nothing if no frame begins after it.
std::optional<Bytes> behind_vp8_descriptor(Bytes payload) {
    base::ByteReader in(payload);
    const uint8_t first = in.u8();
    if ((first & 0x17) != 0x10) return std::nullopt;  // S bit, and the first partition
    if (first & 0x80) {
        const uint8_t more = in.u8();
        if (more & 0x80 && in.u8() & 0x80) in.skip(1);  // picture id of 15 bits
        if (more & 0x40) in.skip(1);
        if (more & 0x30) in.skip(1);
    }
    if (!in.ok()) return std::nullopt;
    return in.rest();
}

void skip_vp9_structure(base::ByteReader& in) {
    const uint8_t first = in.u8();
    if (first & 0x10) in.skip(4u * ((first >> 5) + 1u));
    if (!(first & 0x08)) return;
    for (unsigned left = in.u8(); left > 0 && in.ok(); --left) in.skip(in.u8() >> 2 & 3u);
}

std::optional<Bytes> behind_vp9_descriptor(Bytes payload) {
    base::ByteReader in(payload);
    const uint8_t first = in.u8();
    const bool flexible = first & 0x10;
    if (!(first & 0x08)) return std::nullopt;  // B bit
    if (first & 0x80 && in.u8() & 0x80) in.skip(1);
    if (first & 0x20) in.skip(flexible ? 1 : 2);
    if (first & 0x40 && flexible)
        for (int i = 0; i < 3 && in.u8() & 1; ++i) {
        }
    if (first & 0x02) skip_vp9_structure(in);
    if (!in.ok()) return std::nullopt;
    return in.rest();
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
    constexpr uint8_t kStapA = 24, kHevcAggregation = 48;
    if (payload.empty()) return std::nullopt;
    switch (codec) {
        case media::Codec::kH264: {
            const Bytes sps = find_nalu(payload, media::h264::kSps, kStapA, 1, media::h264::nalu_type);
            return sps.empty() ? std::nullopt : of_h264_sps(sps);
        }
        case media::Codec::kHevc: {
            const Bytes sps = find_nalu(payload, media::h265::kSps, kHevcAggregation, 2, media::h265::nalu_type);
            return sps.empty() ? std::nullopt : of_hevc_sps(sps);
        }
        case media::Codec::kVp8: {
            const auto frame = behind_vp8_descriptor(payload);
            return frame ? of_vp(codec, media::parse_vp8_frame(*frame)) : std::nullopt;
        }
        case media::Codec::kVp9: {
            const auto frame = behind_vp9_descriptor(payload);
            return frame ? of_vp(codec, media::parse_vp9_frame(*frame)) : std::nullopt;
        }
        case media::Codec::kAv1:
            return of_av1(payload);
        default:
            return std::nullopt;
    }
}

}  // namespace service::rtc
