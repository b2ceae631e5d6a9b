#include "protocol/sdp/session/write.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/aac.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/track.h"
#include "protocol/sdp/description.h"
#include "protocol/sdp/format.h"
#include "protocol/sdp/sprop.h"

namespace sdp {

using base::Result;
using media::Codec;

namespace {

constexpr uint8_t kFirstDynamic = 96, kLastDynamic = 127;
constexpr uint8_t kPcmu = 0, kPcma = 8, kMpa = 14;

using Nalu = std::span<const uint8_t>;

std::string sprop(std::string_view name, const std::vector<Nalu>& units) {
    std::string out(name);
    char separator = '=';
    for (Nalu unit : units) {
        out.append(1, separator).append(to_base64(unit));
        separator = ',';
    }
    return out;
}

void keep(const std::vector<Nalu>& units, SessionTrack& track) {
    for (Nalu unit : units) track.parameter_sets.emplace_back(unit.begin(), unit.end());
}

// RFC 6184, 8.1.
Result<void> describe_h264(const media::Track& from, const TrackOptions& options, SessionTrack& track) {
    track.format.single_nalus = options.single_nalus;
    track.fmtp = options.single_nalus ? "packetization-mode=0" : "packetization-mode=1";
    if (!from.config()) return {};
    auto config = TRY(media::parse_avc_config(from.config()->payload));
    std::vector<Nalu> sets = config.sps;
    sets.insert(sets.end(), config.pps.begin(), config.pps.end());
    keep(sets, track);
    track.fmtp += ";profile-level-id=" + profile_level_id(config.profile_idc, config.compatibility, config.level_idc);
    if (!sets.empty()) track.fmtp += ";" + sprop("sprop-parameter-sets", sets);
    return {};
}

// RFC 7798, 7.1.
Result<void> describe_hevc(const media::Track& from, SessionTrack& track) {
    if (!from.config()) return {};
    auto config = TRY(media::parse_hevc_config(from.config()->payload));
    for (const auto* sets : {&config.vps, &config.sps, &config.pps}) keep(*sets, track);
    if (config.vps.empty() || config.sps.empty() || config.pps.empty()) return {};
    track.fmtp =
        sprop("sprop-vps", config.vps) + ";" + sprop("sprop-sps", config.sps) + ";" + sprop("sprop-pps", config.pps);
    return {};
}

// The AV1 RTP payload specification, 7.2.
Result<void> describe_av1(const media::Track& from, SessionTrack& track) {
    if (!from.config()) return {};
    auto config = TRY(media::parse_av1_config(from.config()->payload));
    track.fmtp =
        fmt::format("profile={};level-idx={};tier={}", config.profile, config.level_idx, config.high_tier ? 1 : 0);
    return {};
}

// RFC 3640, 4.1.
Result<void> describe_aac(const media::Track& from, SessionTrack& track) {
    if (!from.config()) return base::fail(base::Code::kNotFound, "its configuration has not arrived");
    const base::Slice& payload = from.config()->payload;
    auto config = TRY(media::parse_aac_config(payload));
    track.format.aac_config = payload;
    track.format.clock_rate = static_cast<uint32_t>(config.output_sample_rate);
    track.format.channels = std::max(config.output_channels(), 1);
    track.fmtp = "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=";
    for (uint8_t byte : payload) track.fmtp += fmt::format("{:02X}", byte);
    return {};
}

Result<void> describe_opus(const media::Track& from, SessionTrack& track) {
    track.format.channels = 2;  // of rtpmap, always (RFC 7587, 7)
    auto info = from.header ? media::audio_info(*from.header) : Result<media::AudioInfo>();
    if (info && info->channels == 2) track.fmtp = "sprop-stereo=1";
    return {};
}

// The format, fmtp and parameter sets.
Result<void> describe(const media::Track& from, const TrackOptions& options, SessionTrack& track) {
    track.format.codec = from.codec;
    track.format.clock_rate = from.codec == Codec::kMp3 ? 90'000 : clock_rate_of(from.codec);
    switch (from.codec) {
        case Codec::kH264:
            return describe_h264(from, options, track);
        case Codec::kHevc:
            return describe_hevc(from, track);
        case Codec::kAv1:
            return describe_av1(from, track);
        case Codec::kAac:
            return describe_aac(from, track);
        case Codec::kOpus:
            return describe_opus(from, track);
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            track.format.channels = 1;
            return {};
        case Codec::kMp3:
        case Codec::kVp8:
        case Codec::kVp9:
            return {};
        default:
            return base::fail(base::Code::kProtocol, "RTP does not carry it");
    }
}

uint8_t payload_type_of(Codec codec, uint8_t& next_dynamic) {
    switch (codec) {
        case Codec::kPcmUlaw:
            return kPcmu;
        case Codec::kPcmAlaw:
            return kPcma;
        case Codec::kMp3:
            return kMpa;
        default:
            return next_dynamic < kLastDynamic ? next_dynamic++ : kLastDynamic;
    }
}

// A line break would begin another line.
std::string one_line(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(
        out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return out.empty() ? "-" : out;
}

MediaSection section_of(const SessionTrack& track) {
    MediaSection section;
    section.kind = track.kind == media::Kind::kVideo ? "video" : "audio";
    section.port = 0;
    section.protocol = "RTP/AVP";
    section.formats = {fmt::format("{}", track.payload_type)};
    if (track.kbps > 0) section.bandwidths.emplace_back("AS", track.kbps);
    const bool with_channels = track.format.codec == Codec::kAac || track.format.codec == Codec::kOpus;
    section.add("rtpmap",
                fmt::format("{} {}/{}{}", track.payload_type, encoding_name(track.format), track.format.clock_rate,
                            with_channels ? fmt::format("/{}", track.format.channels) : std::string()));
    if (!track.fmtp.empty()) section.add("fmtp", fmt::format("{} {}", track.payload_type, track.fmtp));
    if (!track.language.empty()) section.add("lang", one_line(track.language));
    if (track.direction != Direction::kSendRecv) section.add(direction_name(track.direction));
    section.add("control", one_line(track.control));
    return section;
}

}  // namespace

std::vector<SessionTrack> session_tracks(const media::TrackSet& set, const TrackOptions& options,
                                         std::vector<SkippedTrack>* skipped) {
    std::vector<SessionTrack> tracks;
    uint8_t next_dynamic = kFirstDynamic;
    for (size_t i = 0; i < set.tracks.size(); ++i) {
        const media::Track& from = set.tracks[i];
        SessionTrack track;
        track.kind = from.kind;
        track.index = from.index;
        track.language = from.language;
        if (auto described = describe(from, options, track); !described) {
            if (skipped)
                skipped->push_back(
                    {i, fmt::format("{}: {}", media::codec_info(from.codec).name, described.error().text())});
            continue;
        }
        track.payload_type = payload_type_of(from.codec, next_dynamic);
        track.control = fmt::format("{}{}", options.control_prefix, tracks.size());
        tracks.push_back(std::move(track));
    }
    return tracks;
}

std::string write_session(const SessionText& session, const std::vector<SessionTrack>& tracks) {
    const std::string address =
        fmt::format("IN {} {}", session.address.find(':') == std::string::npos ? "IP4" : "IP6", session.address);
    SessionDescription description;
    description.origin = fmt::format("- {} {} {}", session.id, session.version, address);
    description.name = one_line(session.name);
    description.connection = address;
    if (!session.control.empty()) description.add("control", one_line(session.control));
    if (!session.range.empty()) description.add("range", one_line(session.range));
    for (const SessionTrack& track : tracks) description.media.push_back(section_of(track));
    return description.write();
}

}  // namespace sdp
