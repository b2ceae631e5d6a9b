#include "media/codec_parameter.h"

#include <fmt/format.h>

#include "media/aac.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/vpx.h"

namespace media {

namespace {

using Bytes = std::span<const uint8_t>;

std::string avc_text(Bytes record) {
    const auto config = parse_avc_config(record);
    if (!config) return {};
    return fmt::format("avc1.{:02x}{:02x}{:02x}", config->profile_idc, config->compatibility, config->level_idc);
}

// ISO/IEC 14496-15, E.3.
std::string hevc_text(Bytes record) {
    const auto config = parse_hevc_config(record);
    if (!config) return {};
    const HevcProfile& profile = config->profile;
    uint32_t compatibility = 0;  // in reverse bit order
    for (int bit = 0; bit < 32; ++bit) compatibility |= (profile.compatibility >> bit & 1) << (31 - bit);
    constexpr std::string_view kSpaces[] = {"", "A", "B", "C"};
    std::string out =
        fmt::format("hvc1.{}{}.{:X}.{}{}", kSpaces[profile.space_tier_profile >> 6], profile.profile_idc(),
                    compatibility, profile.high_tier() ? 'H' : 'L', profile.level_idc);
    // The constraint flags, without the bytes at the end that are 0.
    for (uint64_t rest = profile.constraints << 16; rest != 0; rest <<= 8) out += fmt::format(".{:X}", rest >> 56);
    return out;
}

std::string av1_text(Bytes record) {
    const auto config = parse_av1_config(record);
    if (!config) return {};
    return fmt::format("av01.{}.{:02}{}.{:02}", config->profile, config->level_idx, config->high_tier ? 'H' : 'M',
                       config->bit_depth);
}

std::string vp_text(std::string_view name, Bytes record) {
    const auto config = parse_vp_config(record);
    if (!config) return {};
    // The lowest level where none is known.
    return fmt::format("{}.{:02}.{:02}.{:02}", name, config->profile, config->level ? config->level : 10,
                       config->bit_depth);
}

std::string aac_text(Bytes record) {
    const auto config = parse_aac_config(record);
    if (!config) return {};
    return fmt::format("mp4a.40.{}", config->ps ? 29 : config->sbr ? 5 : config->object_type);
}

}  // namespace

std::string codec_parameter(const Track& track) {
    const Frame* config = track.config();
    switch (track.codec) {
        case Codec::kH264:
            return config ? avc_text(config->payload) : "";
        case Codec::kHevc:
            return config ? hevc_text(config->payload) : "";
        case Codec::kAv1:
            return config ? av1_text(config->payload) : "";
        case Codec::kVp9:
            return config ? vp_text("vp09", config->payload) : "";
        case Codec::kVp8:
            return "vp08.00.10.08";
        case Codec::kAac:
            return config ? aac_text(config->payload) : "";
        case Codec::kMp3:
            return "mp4a.40.34";
        case Codec::kOpus:
            return "Opus";
        case Codec::kFlac:
            return "fLaC";
        case Codec::kAc3:
            return "ac-3";
        case Codec::kEac3:
            return "ec-3";
        default:
            return {};
    }
}

std::string codecs_parameter(std::span<const Track* const> tracks) {
    std::string all;
    for (const Track* track : tracks) {
        const std::string one = track ? codec_parameter(*track) : std::string();
        if (one.empty()) return {};
        if (("," + all + ",").find("," + one + ",") == std::string::npos) all += (all.empty() ? "" : ",") + one;
    }
    return all;
}

}  // namespace media
