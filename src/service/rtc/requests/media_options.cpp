// Connects SDP with the player and the publisher: the options they want in a negotiation, and their construction after
// it.

#include <algorithm>

#include "convert/rtp/to_rtp.h"
#include "live/hub/options.h"
#include "live/rtp/rtp_lane.h"
#include "protocol/sdp/format.h"
#include "protocol/sdp/negotiation.h"
#include "protocol/sdp/text.h"
#include "runtime/loop/random.h"
#include "service/rtc/config.h"
#include "service/rtc/play/player.h"
#include "service/rtc/publish/publisher.h"

namespace service::rtc {

using media::Codec;
using media::Kind;

namespace {

// Fills in SSRCs that differ from each other and from 0, which means none.
void fill_ssrcs(std::array<uint32_t, 3>& ssrcs) {
    for (size_t i = 0; i < ssrcs.size(); ++i) {
        while (ssrcs[i] == 0 || std::find(ssrcs.begin(), ssrcs.begin() + static_cast<long>(i), ssrcs[i]) !=
                                    ssrcs.begin() + static_cast<long>(i))
            ssrcs[i] = runtime::secret_u32();
    }
}

// The codec of a URL's "h264" or "avc"; kNone: RTP does not carry it.
Codec wished_codec(std::string_view name) {
    if (sdp::same_word(name, "avc")) return Codec::kH264;
    if (sdp::same_word(name, "hevc")) return Codec::kHevc;
    return sdp::codec_of(name).value_or(Codec::kNone);
}

constexpr Codec kVideoCodecs[] = {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp9, Codec::kVp8};
constexpr Codec kAudioCodecs[] = {Codec::kOpus, Codec::kPcmUlaw, Codec::kPcmAlaw};

// Adds the known codecs of a kind; if one is requested, only that one.
void add_codecs(std::vector<sdp::CodecWish>& codecs, std::string_view wish, std::span<const Codec> known) {
    const Codec wished = wish.empty() ? Codec::kNone : wished_codec(wish);
    for (Codec codec : known)
        if (wish.empty() || codec == wished) codecs.push_back({codec, {}});
}

// The tracks sent now, or expected of a publisher that is just connecting. The tracks of a publisher that has left do
// not predict the next one's.
const std::vector<live::RtpTrack>& tracks_of(const live::Stream& stream, const live::RtpLane& lane) {
    return stream.published() ? lane.tracks() : lane.expected_tracks();
}

// The stream's own codec of a kind, with its parameters; kNone: not known yet.
sdp::CodecWish codec_of_stream(const live::Stream& stream, Kind kind) {
    if (const live::RtpLane* lane = stream.rtp_lane_if_any()) {
        for (const live::RtpTrack& track : tracks_of(stream, *lane))
            if (track.kind == kind) return {track.codec, track.fmtp, track.sprop};
        if (stream.published() ? lane->published_by_rtp() : !lane->expected_tracks().empty()) return {};
    }
    const media::TrackSet& tracks = *stream.tracks();
    const Codec codec = tracks.codec(kind);
    if (kind == Kind::kVideo) return {codec, tracks.config(kind) ? convert::fmtp_of(*tracks.config(kind)) : ""};
    if (codec == Codec::kNone) return {};
    // Codecs that RTP does not carry are transcoded to Opus.
    const bool carried = std::ranges::find(kAudioCodecs, codec) != std::end(kAudioCodecs);
    return {carried ? codec : Codec::kOpus, {}};
}

void add_codecs_to_play(std::vector<sdp::CodecWish>& codecs, const live::Stream* stream, Kind kind,
                        std::string_view wish, std::span<const Codec> known, runtime::LogLimit& log) {
    sdp::CodecWish own;
    if (stream) own = codec_of_stream(*stream, kind);
    if (own.codec == Codec::kNone) return add_codecs(codecs, wish, known);
    if (wish.empty() || wished_codec(wish) == own.codec) {
        codecs.push_back(std::move(own));
        return;
    }
    runtime::warn_some(log, "rtc-play: {} was requested, {} has {}: refused", wish, stream->key().text(),
                       media::codec_info(own.codec).name);
}

ReceiveFormat receive_format(const sdp::NegotiatedMedia& media) {
    ReceiveFormat format;
    format.track = {.kind = media.kind,
                    .codec = media.codec,
                    .clock_rate = media.clock_rate,
                    .channels = media.channels,
                    .payload_type = media.payload_type,
                    .ssrc = media.ssrcs.empty() ? 0 : media.ssrcs.front().ssrc,
                    .fmtp = media.fmtp,
                    .sprop = media.sprop};
    if (media.rtx_payload_type) format.rtx_payload_type = *media.rtx_payload_type;
    if (!media.ssrcs.empty()) format.rtx_ssrc = media.ssrcs.front().rtx;
    format.nack = media.feedback.nack;
    format.pli = media.feedback.pli;
    format.fir = media.feedback.fir;
    format.transport_cc = media.feedback.twcc;
    format.remb = media.feedback.remb;
    format.mid = media.mid;
    return format;
}

// One format; of simulcast one for each layer, whose SSRCs its packets show.
void add_receive_formats(std::vector<ReceiveFormat>& formats, const sdp::NegotiatedMedia& media) {
    ReceiveFormat format = receive_format(media);
    if (media.layers.empty()) return formats.push_back(std::move(format));
    format.track.ssrc = format.rtx_ssrc = 0;
    for (const sdp::Layer& layer : media.layers) {
        format.rid = layer.rid;
        formats.push_back(format);
    }
}

SendFormat send_format(const sdp::NegotiatedMedia& media, const std::array<uint32_t, 3>& ssrcs) {
    const bool video = media.kind == Kind::kVideo;
    return {.kind = media.kind,
            .codec = media.codec,
            .ssrc = video ? ssrcs[0] : ssrcs[2],
            .rtx_ssrc = video ? ssrcs[1] : 0,
            .payload_type = media.payload_type,
            .rtx_payload_type = video ? media.rtx_payload_type.value_or(kNoPayloadType) : kNoPayloadType,
            .red_payload_type = media.red_payload_type.value_or(kNoPayloadType),
            .mid_id = media.extension_id(sdp::Extension::kMid),
            .playout_delay_id = media.extension_id(sdp::Extension::kPlayoutDelay),
            .send_time_id = media.extension_id(sdp::Extension::kAbsSendTime),
            .nack = media.feedback.nack,
            .mid = media.mid};
}

}  // namespace

void add_player_options(MediaParts& parts, sdp::LocalOptions& options) {
    const auto stream = parts.registry.find(parts.key);
    const auto& rtc = parts.vhost.get<VhostConfig>();
    options.send = true;
    add_codecs_to_play(options.codecs, stream.get(), Kind::kVideo, parts.vcodec, kVideoCodecs, parts.codec_log);
    add_codecs_to_play(options.codecs, stream.get(), Kind::kAudio, parts.acodec, kAudioCodecs, parts.codec_log);
    // REMB reports the viewer's bandwidth once a second; feedback for each packet (transport-wide) would cost more than
    // it tells. The times of sending are only for REMB, while the link is short.
    options.extensions = {sdp::Extension::kMid, sdp::Extension::kAbsSendTime};
    if (rtc.playout_delay > 0) options.extensions.push_back(sdp::Extension::kPlayoutDelay);
    options.feedback = {.nack = rtc.nack, .pli = true, .fir = true, .twcc = false, .remb = true};
    options.rtx = rtc.nack && rtc.nack_prefer_rtx;
    options.red = true;
    if (const live::RtpLane* lane = stream ? stream->rtp_lane_if_any() : nullptr;
        lane && rtc.keep_original_ssrc && (lane->published_by_rtp() || !stream->published()))
        for (const live::RtpTrack& track : tracks_of(*stream, *lane))
            parts.ssrcs[track.kind == Kind::kVideo ? 0 : 2] = track.ssrc;
    fill_ssrcs(parts.ssrcs);
    options.tracks = {{Kind::kVideo, parts.ssrcs[0], options.rtx ? parts.ssrcs[1] : 0},
                      {Kind::kAudio, parts.ssrcs[2], 0}};
    options.cname = parts.session.as_session().id();
    options.stream_id = parts.key.app + "-" + parts.key.name;
}

void add_publisher_options(const MediaParts& parts, sdp::LocalOptions& options) {
    const auto& rtc = parts.vhost.get<VhostConfig>();
    options.send = false;
    add_codecs(options.codecs, parts.vcodec, kVideoCodecs);
    add_codecs(options.codecs, parts.acodec, kAudioCodecs);
    options.extensions = {sdp::Extension::kMid, sdp::Extension::kRid, sdp::Extension::kRepairedRid};
    if (rtc.twcc) options.extensions.push_back(sdp::Extension::kTwcc);
    options.feedback = {.nack = rtc.nack, .pli = true, .fir = true, .twcc = rtc.twcc, .remb = true};
    options.rtx = rtc.nack && rtc.nack_prefer_rtx;
}

base::Result<std::unique_ptr<Media>> make_player(MediaParts parts, const sdp::Negotiated& negotiated) {
    std::vector<SendFormat> formats;
    for (Kind kind : {Kind::kAudio, Kind::kVideo}) {
        const sdp::NegotiatedMedia* media = negotiated.find(kind);
        if (media && sdp::sends(media->direction)) formats.push_back(send_format(*media, parts.ssrcs));
    }
    if (formats.empty())
        return base::fail(base::Code::kProtocol, "the offer wants to receive nothing that could be sent");
    auto stream = parts.registry.find_or_create(parts.key, live::live_options(parts.vhost));
    return std::make_unique<Player>(std::move(parts), std::move(stream), formats,
                                    static_cast<uint16_t>(runtime::secret_u32() & 0x3fff));
}

base::Result<std::unique_ptr<Media>> make_publisher(MediaParts parts, const sdp::Negotiated& negotiated) {
    PublishFormat format;
    for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
        const sdp::NegotiatedMedia* media = negotiated.find(kind);
        if (!media || !sdp::receives(media->direction)) continue;
        add_receive_formats(format.tracks, *media);
        if (media->kind == Kind::kVideo) {
            format.rid_id = media->extension_id(sdp::Extension::kRid);
            format.repaired_rid_id = media->extension_id(sdp::Extension::kRepairedRid);
        }
        if (format.mid_id == 0) format.mid_id = media->extension_id(sdp::Extension::kMid);
        if (format.twcc_id == 0) format.twcc_id = media->extension_id(sdp::Extension::kTwcc);
    }
    if (format.tracks.empty())
        return base::fail(base::Code::kProtocol, "the offer wants to send nothing that could be taken");
    auto stream = parts.registry.find_or_create(parts.key, live::live_options(parts.vhost));
    auto publisher =
        std::make_unique<Publisher>(std::move(parts), std::move(stream), format, runtime::secret_u32() | 1);
    TRY(publisher->prepare());
    return publisher;
}

}  // namespace service::rtc
