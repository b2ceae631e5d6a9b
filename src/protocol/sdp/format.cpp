#include "protocol/sdp/format.h"

#include <fmt/format.h>

#include "protocol/sdp/text.h"

namespace sdp {
namespace {

using media::Codec;

struct Encoding {
    Codec codec;
    std::string_view name;
    uint32_t clock_rate;
};
constexpr Encoding kEncodings[] = {
    {Codec::kH264, "H264", 90'000},  {Codec::kHevc, "H265", 90'000},  {Codec::kAv1, "AV1", 90'000},
    {Codec::kVp9, "VP9", 90'000},    {Codec::kVp8, "VP8", 90'000},    {Codec::kOpus, "opus", 48'000},
    {Codec::kPcmUlaw, "PCMU", 8000}, {Codec::kPcmAlaw, "PCMA", 8000},
};

const Encoding* find(Codec codec) {
    for (const Encoding& encoding : kEncodings)
        if (encoding.codec == codec) return &encoding;
    return nullptr;
}

struct ProfilePattern {
    uint8_t idc;
    uint8_t mask, bits;  // applied to profile-iop
    H264Profile profile;
};
constexpr ProfilePattern kProfiles[] = {
    {0x42, 0x4f, 0x40, H264Profile::kConstrainedBaseline},
    {0x4d, 0x8f, 0x80, H264Profile::kConstrainedBaseline},
    {0x58, 0xcf, 0xc0, H264Profile::kConstrainedBaseline},
    {0x42, 0x4f, 0x00, H264Profile::kBaseline},
    {0x58, 0xcf, 0x80, H264Profile::kBaseline},
    {0x4d, 0xaf, 0x00, H264Profile::kMain},
    {0x58, 0xcf, 0x00, H264Profile::kExtended},
    {0x64, 0xff, 0x00, H264Profile::kHigh},
    {0x64, 0xff, 0x0c, H264Profile::kConstrainedHigh},
    {0x6e, 0xff, 0x00, H264Profile::kHigh10},
    {0x7a, 0xff, 0x00, H264Profile::kHigh422},
    {0xf4, 0xff, 0x00, H264Profile::kHigh444},
};

std::optional<uint8_t> hex_byte(std::string_view text) {
    unsigned value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 2 || error != std::errc() || end != text.data() + 2) return std::nullopt;
    return static_cast<uint8_t>(value);
}

// Whether a decoder of profile `has` can decode `wanted`.
bool includes(H264Profile has, H264Profile wanted) {
    using enum H264Profile;
    auto rank = [](H264Profile profile) {
        switch (profile) {
            case kConstrainedBaseline:
                return 1;
            case kMain:
                return 2;
            case kConstrainedHigh:
            case kHigh:
                return 3;
            case kHigh10:
                return 4;
            case kHigh422:
                return 5;
            case kHigh444:
                return 6;
            default:
                return 0;
        }
    };
    if (has == kUnknown || wanted == kUnknown) return false;
    if (wanted == kConstrainedBaseline) return true;  // every profile includes it
    if (wanted == kConstrainedHigh) return rank(has) >= rank(kHigh);
    if (has == kConstrainedHigh) return false;  // no interlace, no B-frames
    return rank(wanted) > 0 && rank(has) > rank(wanted);
}

int h264_fitness(std::string_view wanted, std::string_view offered) {
    H264Profile want = h264_profile(wanted.empty() ? "42e01f" : parameter(wanted, "profile-level-id"));
    H264Profile has = h264_profile(parameter(offered, "profile-level-id"));
    int mode = wanted.empty() ? 1 : h264_packetization_mode(wanted);
    int profile = want == has ? 3 : includes(has, want) ? 2 : 1;
    return profile * 2 + (h264_packetization_mode(offered) == mode ? 1 : 0);
}

int profile_fitness(std::string_view name, std::string_view initial, std::string_view wanted,
                    std::string_view offered) {
    auto value = [&](std::string_view fmtp) {
        std::string_view said = parameter(fmtp, name);
        return said.empty() ? initial : said;
    };
    return value(wanted) == value(offered) ? 2 : 1;
}

}  // namespace

std::optional<Codec> codec_of(std::string_view encoding) {
    for (const Encoding& known : kEncodings)
        if (same_word(known.name, encoding)) return known.codec;
    // Names in use before the formats were registered.
    if (same_word(encoding, "HEVC")) return Codec::kHevc;
    if (same_word(encoding, "AV1X")) return Codec::kAv1;
    return std::nullopt;
}

std::string_view encoding_of(Codec codec) {
    const Encoding* found = find(codec);
    return found ? found->name : std::string_view();
}

uint32_t clock_rate_of(Codec codec) {
    const Encoding* found = find(codec);
    return found ? found->clock_rate : 0;
}

std::string_view parameter(std::string_view fmtp, std::string_view name) {
    while (!fmtp.empty()) {
        std::string_view pair = take_word(fmtp, ';');
        std::string_view key = take_word(pair, '=');
        if (same_word(key, name)) return pair;
    }
    return {};
}

H264Profile h264_profile(std::string_view profile_level_id) {
    if (profile_level_id.empty()) return H264Profile::kBaseline;
    if (profile_level_id.size() != 6) return H264Profile::kUnknown;
    auto idc = hex_byte(profile_level_id.substr(0, 2));
    auto iop = hex_byte(profile_level_id.substr(2, 2));
    if (!idc || !iop) return H264Profile::kUnknown;
    for (const ProfilePattern& pattern : kProfiles)
        if (pattern.idc == *idc && (*iop & pattern.mask) == pattern.bits) return pattern.profile;
    return H264Profile::kUnknown;
}

std::string profile_level_id(uint8_t profile_idc, uint8_t constraints, uint8_t level_idc) {
    return fmt::format("{:02x}{:02x}{:02x}", profile_idc, constraints, level_idc);
}

int h264_packetization_mode(std::string_view fmtp) {
    return number<int>(parameter(fmtp, "packetization-mode"), 2).value_or(0);
}

int fitness(Codec codec, std::string_view wanted, std::string_view offered) {
    switch (codec) {
        case Codec::kH264:
            return h264_fitness(wanted, offered);
        case Codec::kHevc:
            return profile_fitness("profile-id", "1", wanted, offered);
        case Codec::kVp9:
            return profile_fitness("profile-id", "0", wanted, offered);
        case Codec::kAv1:
            return profile_fitness("profile", "0", wanted, offered);
        default:
            return encoding_of(codec).empty() ? 0 : 1;
    }
}

}  // namespace sdp
