// Whether somebody publishes the stream, what is published under a similar name, and whether the protocol carries its
// codecs.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/nearest.h"
#include "protocol/ts/program.h"
#include "server/why/config_line.h"
#include "server/why/evaluate.h"

namespace server::why {
namespace {

using media::Codec;

// A published stream that was probably meant; null: none.
const base::StreamKey* find_similar(const std::vector<base::StreamKey>& published, const base::StreamKey& named) {
    // The same stream in another vhost; in another app; a name that is like it.
    const auto same_path = [&](const base::StreamKey& key) { return key.app == named.app && key.name == named.name; };
    if (auto found = std::ranges::find_if(published, same_path); found != published.end()) return &*found;
    const auto same_name = [&](const base::StreamKey& key) {
        return key.vhost == named.vhost && key.name == named.name;
    };
    if (auto found = std::ranges::find_if(published, same_name); found != published.end()) return &*found;
    std::vector<std::string> names;
    std::vector<const base::StreamKey*> keys;
    for (const base::StreamKey& key : published) {
        if (key.vhost != named.vhost) continue;
        names.push_back(key.app + "/" + key.name);
        keys.push_back(&key);
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    const config::Nearest near = config::nearest(named.app + "/" + named.name, views);
    if (!near.close) return nullptr;
    return keys[static_cast<size_t>(std::ranges::find(names, near.name) - names.begin())];
}

std::string shown(const base::StreamKey& key) { return base::for_log(key.app + "/" + key.name); }

void add_similar(const Facts& facts, const base::StreamKey& named, Finding& finding) {
    const base::StreamKey* similar = find_similar(facts.live->published, named);
    if (!similar) {
        finding.text += fmt::format("; {} streams are published", facts.live->published.size());
        return;
    }
    if (similar->vhost == named.vhost) {
        finding.text += fmt::format(", {} is", shown(*similar));
    } else {
        finding.text += fmt::format(" in vhost {}, but in vhost {}", named.vhost, base::for_log(similar->vhost));
    }
    Target right = facts.target;
    right.app = similar->app;
    right.stream = similar->name;
    if (similar->vhost != named.vhost) right.vhost = similar->vhost;
    finding.url = url_of(right, facts.snapshot);
}

void check_played(const Facts& facts, const base::StreamKey& named, Findings& findings) {
    const Live& live = *facts.live;
    if (live.stream) {
        const std::string by = live.stream->by.empty() ? "" : fmt::format(" ({})", live.stream->by);
        findings.push_back({.check = "publisher", .text = fmt::format("{} is published{}", shown(named), by)});
        return;
    }
    using service::Fetching;
    if (live.fetching == Fetching::kAsked) {
        findings.push_back(
            {.check = "publisher",
             .verdict = Verdict::kUnknown,
             .text = fmt::format("{} is fetched from another server when a player asks for it", shown(named))});
        return;
    }
    Finding finding{.check = "publisher", .verdict = Verdict::kBad};
    if (live.fetching == Fetching::kRefused) {
        finding.text = fmt::format("{} is fetched from other servers, and none of them has it", shown(named));
    } else {
        finding.text = fmt::format("{} is not published", shown(named));
        finding.advice = "GET /api/v1/clients?closed=true says why a publisher ended or was refused";
        add_similar(facts, named, finding);
    }
    findings.push_back(std::move(finding));
}

void check_published(const Facts& facts, const config::Vhost& vhost, const base::StreamKey& named, Findings& findings) {
    if (!facts.live->stream) {
        findings.push_back({.check = "publisher", .text = fmt::format("{} is free", shown(named))});
    } else if (vhost.publish.takeover || vhost.publish.standby != config::StandbyMode::kOff) {
        findings.push_back({.check = "publisher",
                            .verdict = Verdict::kWarn,
                            .text = fmt::format("{} is published already: {}", shown(named),
                                                vhost.publish.takeover ? "a new publisher takes it over"
                                                                       : "a new publisher waits (standby)")});
    } else {
        findings.push_back(missing(
            facts, "publisher", fmt::format("{} is published already, and a second publisher is refused", shown(named)),
            vhost.name, "vhost/publish/takeover", "on"));
    }
}

// ---- Codecs

bool is_one_of(Codec codec, std::initializer_list<Codec> codecs) {
    return std::ranges::find(codecs, codec) != codecs.end();
}

std::string_view name_of_codec(Codec codec) { return media::codec_info(codec).name; }

bool is_h264(Codec codec) { return codec == Codec::kH264; }

// Of frames that have to be made of a WebRTC publisher's packets, and the other way round.
bool check_conversion(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream,
                      Findings& findings) {
    const bool to_rtc = facts.target.protocol == Protocol::kWebrtc;
    if (stream.is_rtp == to_rtc) return true;
    const std::string_view path = to_rtc ? "vhost/rtc/rtmp_to_rtc" : "vhost/rtc/rtc_to_rtmp";
    if (!is_on(facts.snapshot, &vhost, path)) {
        findings.push_back(missing(facts, "conversion",
                                   to_rtc ? "streams that are not published by WebRTC are not converted to it"
                                          : "the stream is published by WebRTC, which is not converted for others",
                                   vhost.name, path, "on"));
        if (!to_rtc) findings.back().advice = "it counts for publishers that come after it";
        return false;
    }
    return true;
}

bool check_rtsp_conversion(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream,
                           Findings& findings) {
    constexpr std::string_view kPath = "vhost/rtsp/rtmp_to_rtsp";
    if (facts.target.protocol != Protocol::kRtsp || stream.by.starts_with("rtsp") ||
        is_on(facts.snapshot, &vhost, kPath))
        return true;
    findings.push_back(missing(facts, "conversion", "streams that are not published by RTSP are not converted to it",
                               vhost.name, kPath, "on"));
    return false;
}

void check_rtc_codecs(const PublishedStream& stream, const config::Vhost& vhost, const Facts& facts,
                      Findings& findings) {
    for (const Codec codec : stream.video) {
        if (!is_one_of(codec, {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp8, Codec::kVp9}))
            findings.push_back({.check = "codecs",
                                .verdict = Verdict::kBad,
                                .text = fmt::format("WebRTC does not carry {}", name_of_codec(codec)),
                                .advice = "publish H264"});
        else if (codec == Codec::kHevc)
            findings.push_back({.check = "codecs",
                                .verdict = Verdict::kWarn,
                                .text = "the video is HEVC, which not every browser takes by WebRTC",
                                .advice = "publish H264 where all browsers must be reached"});
    }
    if (stream.has_b_frames && !is_on(facts.snapshot, &vhost, "vhost/rtc/keep_bframe"))
        findings.push_back({.check = "codecs",
                            .verdict = Verdict::kWarn,
                            .text = "the video has B-frames, which are dropped for WebRTC: it moves unevenly",
                            .advice = "publish without: -bf 0, or tune zerolatency"});
}

void add_uncarried(Codec codec, std::string_view by, Findings& findings) {
    findings.push_back({.check = "codecs",
                        .verdict = Verdict::kBad,
                        .text = fmt::format("{} does not carry {}", by, name_of_codec(codec)),
                        .advice = "publish H264 and AAC"});
}

void check_ts_codecs(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream,
                     Findings& findings) {
    const bool is_hls = facts.target.protocol == Protocol::kHls;
    if (is_hls && is_on(facts.snapshot, &vhost, "vhost/hls/hls_use_fmp4")) return;
    for (const auto* codecs : {&stream.video, &stream.audio}) {
        for (const Codec codec : *codecs) {
            if (ts::carries(codec)) continue;
            if (is_hls) {
                findings.push_back(missing(facts, "codecs",
                                           fmt::format("segments of MPEG-TS do not carry {}", name_of_codec(codec)),
                                           vhost.name, "vhost/hls/hls_use_fmp4", "on"));
                return;
            }
            add_uncarried(codec, name_of(facts.target), findings);
        }
    }
}

// Players of FLV and RTMP know H.264 and AAC from ever; the others by Enhanced RTMP alone.
void check_flv_codecs(const Facts& facts, const PublishedStream& stream, Findings& findings) {
    for (const Codec codec : stream.video) {
        if (is_h264(codec)) continue;
        findings.push_back({.check = "codecs",
                            .verdict = Verdict::kWarn,
                            .text = fmt::format("the video is {}, which older players of {} do not know",
                                                name_of_codec(codec), name_of(facts.target)),
                            .advice = "publish H264 where all players must be reached"});
    }
}

void check_audio_only(const Facts& facts, const PublishedStream& stream, Findings& findings) {
    const Codec wanted = facts.target.extension == ".aac" ? Codec::kAac : Codec::kMp3;
    if (is_one_of(wanted, {stream.audio.empty() ? Codec::kNone : stream.audio.front()})) return;
    findings.push_back({.check = "codecs",
                        .verdict = Verdict::kBad,
                        .text = fmt::format("the stream has no {} audio", name_of_codec(wanted)),
                        .advice = "play it as .flv or .ts"});
}

std::string codecs_text(const PublishedStream& stream) {
    std::string text;
    for (const auto* codecs : {&stream.video, &stream.audio})
        for (const Codec codec : *codecs) text += (text.empty() ? "" : ", ") + std::string(name_of_codec(codec));
    return text;
}

void check_codecs(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream, Findings& findings) {
    if (stream.video.empty() && stream.audio.empty()) {
        findings.push_back({.check = "codecs",
                            .verdict = Verdict::kUnknown,
                            .text = "no frame has been received from the publisher yet"});
        return;
    }
    const size_t before = findings.size();
    const std::string& extension = facts.target.extension;
    switch (facts.target.protocol) {
        case Protocol::kWebrtc:
            check_rtc_codecs(stream, vhost, facts, findings);
            break;
        case Protocol::kHls:
        case Protocol::kSrt:
            check_ts_codecs(facts, vhost, stream, findings);
            break;
        case Protocol::kHttpLive:
            if (extension == ".ts") check_ts_codecs(facts, vhost, stream, findings);
            if (extension == ".aac" || extension == ".mp3") check_audio_only(facts, stream, findings);
            if (extension == ".flv") check_flv_codecs(facts, stream, findings);
            break;
        case Protocol::kRtmp:
            check_flv_codecs(facts, stream, findings);
            break;
        case Protocol::kDash:
        case Protocol::kRtsp:
            break;
    }
    if (findings.size() == before)
        findings.push_back(
            {.check = "codecs", .text = fmt::format("{} carries {}", name_of(facts.target), codecs_text(stream))});
}

}  // namespace

void check_stream(const Facts& facts, const config::Vhost& vhost, Findings& findings) {
    const base::StreamKey named{vhost.name, facts.target.app, facts.target.stream};
    if (!facts.live) {
        findings.push_back({.check = "publisher",
                            .verdict = Verdict::kUnknown,
                            .text = "only a running server knows what is published"});
        return;
    }
    if (facts.target.action == net::Action::kPublish) return check_published(facts, vhost, named, findings);
    check_played(facts, named, findings);
    if (!facts.live->stream) return;
    const PublishedStream& stream = *facts.live->stream;
    if (check_conversion(facts, vhost, stream, findings) && check_rtsp_conversion(facts, vhost, stream, findings))
        check_codecs(facts, vhost, stream, findings);
}

}  // namespace server::why
