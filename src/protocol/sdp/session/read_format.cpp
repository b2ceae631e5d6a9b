#include "protocol/sdp/session/read_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "media/aac.h"
#include "protocol/rtp/payload/latm_payload.h"
#include "protocol/sdp/format.h"
#include "protocol/sdp/sprop.h"
#include "protocol/sdp/text.h"

namespace sdp {

using base::Code;
using base::fail;
using base::Result;
using media::Codec;

namespace {

using Defects = std::vector<std::string>;

constexpr uint32_t kMinClock = 1'000, kMaxClock = 1'000'000;  // Hz
constexpr size_t kMaxAacConfig = 512;                         // bytes

struct Rtpmap {
    std::string_view encoding;
    uint32_t clock_rate = 0;  // 0: absent
    int channels = 0;         // 0: absent
};

struct StaticType {
    uint8_t number;
    Rtpmap map;
};
// RFC 3551, table 4 and 5: those that are used, and those whose names make a better reason.
constexpr StaticType kStaticTypes[] = {
    {0, {"PCMU", 8000, 1}},   {3, {"GSM", 8000, 1}},   {4, {"G723", 8000, 1}},   {8, {"PCMA", 8000, 1}},
    {9, {"G722", 8000, 1}},   {10, {"L16", 44100, 2}}, {11, {"L16", 44100, 1}},  {14, {"MPA", 90000, 0}},
    {26, {"JPEG", 90000, 0}}, {32, {"MPV", 90000, 0}}, {33, {"MP2T", 90000, 0}},
};

// The value behind the payload type, of the first attribute of that name and type.
std::optional<std::string_view> value_of(const MediaSection& media, std::string_view name, uint8_t payload_type) {
    for (const Attribute& attribute : media.attributes) {
        if (attribute.name != name) continue;
        std::string_view rest = attribute.value;
        if (number<uint8_t>(take_word(rest), 127) != payload_type) continue;
        while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
        return rest;
    }
    return std::nullopt;
}

Result<Rtpmap> read_rtpmap(const MediaSection& media, uint8_t payload_type) {
    if (auto value = value_of(media, "rtpmap", payload_type)) {
        Rtpmap map;
        map.encoding = take_word(*value, '/');
        map.clock_rate = number<uint32_t>(take_word(*value, '/'), UINT32_MAX).value_or(0);
        map.channels = number<int>(take_word(*value, '/'), 255).value_or(0);
        return map;
    }
    for (const StaticType& type : kStaticTypes)
        if (type.number == payload_type) return type.map;
    return fail(Code::kProtocol, fmt::format("payload type {} without rtpmap", payload_type));
}

// mode: of fmtp.
Result<Codec> codec_of_map(const Rtpmap& map, std::string_view mode) {
    if (same_word(map.encoding, "MPA")) return Codec::kMp3;
    if (same_word(map.encoding, "MP4A-LATM")) return Codec::kAac;
    if (same_word(map.encoding, "mpeg4-generic")) {
        if (mode.empty() || same_word(mode, "AAC-hbr") || same_word(mode, "AAC-lbr") || same_word(mode, "generic"))
            return Codec::kAac;
        return fail(Code::kProtocol, "mpeg4-generic: mode " + base::for_log(mode, 20) + " is not supported");
    }
    if (auto codec = codec_of(map.encoding)) return *codec;
    return fail(Code::kProtocol, base::for_log(map.encoding, 30) + ": not supported");
}

std::string_view unquoted(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
    return text;
}

// Nothing: it is not hexadecimal, empty, or too long. A digit too much at the end is ignored.
std::optional<base::Slice> from_hex(std::string_view text) {
    if (text.size() < 2 || text.size() > 2 * kMaxAacConfig + 1) return std::nullopt;
    std::vector<uint8_t> out(text.size() / 2);
    for (size_t i = 0; i < out.size(); ++i) {
        const std::string_view pair = text.substr(2 * i, 2);
        auto [end, error] = std::from_chars(pair.data(), pair.data() + 2, out[i], 16);
        if (error != std::errc() || end != pair.data() + 2) return std::nullopt;
    }
    return base::Slice::copy(out);
}

// Some cameras put start codes before the NAL units.
void remove_start_codes(std::vector<std::vector<uint8_t>>& sets) {
    for (auto& set : sets) {
        auto begin = std::ranges::find_if(set, [](uint8_t byte) { return byte != 0; });
        if (begin - set.begin() >= 2 && begin != set.end() && *begin == 1) set.erase(set.begin(), begin + 1);
    }
}

Result<void> read_nalu_format(SessionTrack& track, Defects& defects) {
    const std::string_view fmtp = track.fmtp;
    const bool h264 = track.format.codec == Codec::kH264;
    if (h264 && h264_packetization_mode(fmtp) == 2)
        return fail(Code::kProtocol, "H264: interleaved packets (packetization-mode=2) are not supported");
    for (std::string_view name : {"sprop-max-don-diff", "sprop-depack-buf-nalus"}) {
        const std::string_view value = parameter(fmtp, name);
        if (!h264 && !value.empty() && value != "0")
            return fail(Code::kProtocol, fmt::format("H265: interleaved packets ({}) are not supported", name));
    }
    const std::string_view mode = parameter(fmtp, "tx-mode");
    if (!h264 && !mode.empty() && !same_word(mode, "SRST"))
        return fail(Code::kProtocol, "H265: tx-mode " + base::for_log(mode, 10) + " is not supported");
    track.format.single_nalus = h264 && h264_packetization_mode(fmtp) == 0;
    track.parameter_sets = parameter_sets(track.format.codec, fmtp);
    remove_start_codes(track.parameter_sets);
    const bool stated = fmtp.find("sprop-parameter-sets") != fmtp.npos || fmtp.find("sprop-sps") != fmtp.npos;
    if (stated && track.parameter_sets.empty()) defects.push_back("the parameter sets in fmtp are malformed");
    return {};
}

Result<void> read_lengths(std::string_view fmtp, rtp::PayloadFormat& format) {
    const bool lbr = same_word(parameter(fmtp, "mode"), "AAC-lbr");
    const bool generic = same_word(parameter(fmtp, "mode"), "generic");
    auto length = [&](std::string_view name, uint8_t otherwise, uint8_t& to) -> Result<void> {
        const std::string_view value = parameter(fmtp, name);
        if (value.empty()) {
            to = otherwise;
            return {};
        }
        auto bits = number<uint8_t>(value, 16);
        if (!bits) return fail(Code::kProtocol, fmt::format("AAC: {}={}", name, base::for_log(value, 10)));
        to = *bits;
        return {};
    };
    TRY(length("sizelength", lbr ? 6 : generic ? 0 : 13, format.size_length));
    TRY(length("indexlength", lbr ? 2 : generic ? 0 : 3, format.index_length));
    TRY(length("indexdeltalength", lbr ? 2 : generic ? 0 : 3, format.index_delta_length));
    format.constant_size = number<uint32_t>(parameter(fmtp, "constantsize"), 0xffff).value_or(0);
    return {};
}

// RFC 3640, 4.1.
Result<void> read_mpeg4_generic(SessionTrack& track, Defects& defects) {
    const std::string_view fmtp = track.fmtp;
    for (std::string_view name : {"maxdisplacement", "ctsdeltalength", "dtsdeltalength", "streamstateindication",
                                  "randomaccessindication", "auxiliarydatasizelength"}) {
        const std::string_view value = parameter(fmtp, name);
        if (value.empty() || value == "0") continue;
        if (name == "maxdisplacement") return fail(Code::kProtocol, "AAC: interleaved access units are not supported");
        return fail(Code::kProtocol, fmt::format("AAC: {} is not supported", name));
    }
    TRY(read_lengths(fmtp, track.format));
    const std::string_view text = unquoted(parameter(fmtp, "config"));
    auto config = from_hex(text);
    auto parsed = config ? media::parse_aac_config(*config) : Result<media::AacConfig>();
    if (!config || !parsed) {
        defects.push_back(text.empty() ? "AAC: config is missing, and taken from rtpmap"
                                       : "AAC: config is malformed, and taken from rtpmap");
        return {};
    }
    track.format.aac_config = *std::move(config);
    const auto rate = static_cast<int>(track.format.clock_rate);
    if (rate != 0 && rate != parsed->core_sample_rate && rate != parsed->output_sample_rate)
        defects.push_back(fmt::format("AAC: config has {} Hz, rtpmap {}", parsed->output_sample_rate, rate));
    if (rate == 0) track.format.clock_rate = static_cast<uint32_t>(parsed->output_sample_rate);
    return {};
}

// RFC 6416, 7.3.
Result<void> read_latm(SessionTrack& track, Defects& defects) {
    track.format.latm = true;
    const std::string_view text = unquoted(parameter(track.fmtp, "config"));
    const std::string_view present = parameter(track.fmtp, "cpresent");
    track.format.latm_config_in_band = present == "1" || (present.empty() && text.empty());
    auto config = from_hex(text);
    if (!config) {
        if (track.format.latm_config_in_band) return {};
        return fail(Code::kProtocol, "AAC: MP4A-LATM without a valid config");
    }
    auto parsed = rtp::parse_stream_mux_config(*config);
    if (!parsed && !track.format.latm_config_in_band) return std::unexpected(std::move(parsed.error()).with("AAC"));
    if (!parsed) {
        defects.push_back("AAC: " + parsed.error().text());
        return {};
    }
    track.format.latm_config = *std::move(config);
    if (track.format.clock_rate != 0) return {};
    if (auto aac = media::parse_aac_config(parsed->aac_config))
        track.format.clock_rate = static_cast<uint32_t>(aac->output_sample_rate);
    return {};
}

Result<void> read_parameters(SessionTrack& track, Defects& defects) {
    switch (track.format.codec) {
        case Codec::kH264:
        case Codec::kHevc:
            return read_nalu_format(track, defects);
        case Codec::kAac:
            return track.format.latm ? read_latm(track, defects) : read_mpeg4_generic(track, defects);
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            if ((track.format.clock_rate != 0 && track.format.clock_rate != 8000) || track.format.channels > 1)
                return fail(Code::kProtocol, "G.711 of more than 8000 Hz or one channel is not supported");
            track.format.channels = 1;
            return {};
        case Codec::kOpus:
            track.format.channels = 2;  // of rtpmap, always: what is decoded from mono packets, too (RFC 7587, 7)
            return {};
        default:
            return {};
    }
}

}  // namespace

Result<SessionTrack> read_format(const MediaSection& media, uint8_t payload_type, Defects& defects) {
    const Rtpmap map = TRY(read_rtpmap(media, payload_type));
    SessionTrack track;
    track.payload_type = payload_type;
    track.fmtp = value_of(media, "fmtp", payload_type).value_or(std::string_view());
    track.format.codec = TRY(codec_of_map(map, parameter(track.fmtp, "mode")));
    track.format.latm = same_word(map.encoding, "MP4A-LATM");
    track.format.clock_rate = map.clock_rate;
    track.format.channels = map.channels;
    track.kind = media::codec_info(track.format.codec).kind;
    TRY(read_parameters(track, defects));
    uint32_t& rate = track.format.clock_rate;
    if (rate == 0) {
        defects.push_back("rtpmap has no clock rate");
        rate = clock_rate_of(track.format.codec);
        if (rate == 0) rate = track.format.codec == Codec::kMp3 ? 90'000 : 48'000;
    }
    if (rate < kMinClock || rate > kMaxClock) return fail(Code::kProtocol, fmt::format("a clock rate of {} Hz", rate));
    return track;
}

}  // namespace sdp
