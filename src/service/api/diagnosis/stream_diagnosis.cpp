#include "service/api/diagnosis/stream_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "protocol/flv/codec_ids.h"
#include "protocol/ts/program.h"

namespace service::api {

using media::Codec;

namespace {

// The limits of the checks. doc/why.md must agree with them.
constexpr int64_t kKeyframeWarnMs = 10'000, kKeyframeBadMs = 20'000;
constexpr int64_t kGopWarnMs = 10'000;
constexpr double kFragmentTolerance = 1.05;
constexpr int64_t kLeastBaselineMs = 30'000;             // shorter ones are too short to compare clocks
constexpr double kDriftWarn = 200, kDriftBad = 1000;     // ms
constexpr double kOffsetWarn = 1000, kOffsetBad = 5000;  // ms
constexpr double kClockWarn = 1, kClockBad = 5;          // percent
constexpr int64_t kLatelyMs = 600'000;
constexpr double kStepWarn = 3;  // times the usual interval between video frames
constexpr double kStepLeastMs = 200;
constexpr double kBitrateWarn = 3;  // times the mean
constexpr int64_t kLeastWindowMs = 500;

using V = CheckVerdict;

V grade(double value, double warn, double bad) { return value >= bad ? V::kBad : value >= warn ? V::kWarn : V::kOk; }

Check unknown(std::string_view name, std::string_view unit, std::string text) {
    return {name, V::kUnknown, {}, unit, std::move(text)};
}

// The advice is that of a check that is not ok.
Check advised(Check check, std::string_view advice) {
    if (check.verdict != V::kOk) check.advice = advice;
    return check;
}

double seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

bool has_video(const StreamFacts& p) { return p.tracks.video() != nullptr; }

Check published(const StreamFacts& p) {
    if (p.published)
        return {"publisher", V::kOk, seconds(p.now_ms - p.health.started_ms()), "s",
                "the time since its publication began"};
    const bool ever = p.unpublished_since_ms > 0;
    return {
        "publisher",
        V::kBad,
        ever ? std::optional(seconds(p.now_ms - p.unpublished_since_ms)) : std::nullopt,
        "s",
        ever ? "its publisher has left" : "it has not been published yet",
        "start the encoder again; the reason of its end is among the closed sessions (/api/v1/clients, closed=true)"};
}

// "video", "audio 1": the first of a kind has no number, as players that know one track get it.
std::string name_of(const media::Track& track) {
    const std::string kind = track.kind == media::Kind::kVideo ? "video" : "audio";
    return track.index == 0 ? kind : fmt::format("{} {}", kind, track.index);
}

Check headers(const StreamFacts& p) {
    if (p.tracks.tracks.empty()) return unknown("headers", {}, "no frame has been received yet");
    std::string missing;
    for (const media::Track& track : p.tracks.tracks) {
        if (track.config() || !media::codec_info(track.codec).has_sequence_header) continue;
        missing +=
            fmt::format("{}{} ({})", missing.empty() ? "" : ", ", name_of(track), media::codec_info(track.codec).name);
    }
    if (missing.empty()) return {"headers", V::kOk, {}, {}, "every track has its sequence header"};
    return {"headers",
            V::kBad,
            {},
            {},
            "no sequence header was received for " + missing,
            "players cannot decode it: the encoder must send its sequence headers, at the latest "
            "when it publishes again"};
}

Check codecs(const StreamFacts& p) {
    if (p.tracks.tracks.empty()) return unknown("codecs", {}, "no frame has been received yet");
    std::string lacks;
    std::vector<Codec> seen;
    const auto say = [&](std::string text) { lacks += (lacks.empty() ? "" : "; ") + std::move(text); };
    for (const media::Track& track : p.tracks.tracks) {
        if (std::ranges::find(seen, track.codec) != seen.end()) continue;
        seen.push_back(track.codec);
        const media::CodecInfo& info = media::codec_info(track.codec);
        if (!ts::carries(track.codec))
            say(fmt::format("MPEG-TS (HTTP-TS, HLS without hls_use_fmp4) does not carry {}", info.name));
        if (flv::codec_ids(track.codec).id < 0)
            say(fmt::format("{} in RTMP and FLV needs players that know enhanced RTMP", info.name));
        if (track.kind == media::Kind::kVideo && track.codec != Codec::kH264)
            say(fmt::format("not every browser plays {}", info.name));
    }
    if (lacks.empty()) return {"codecs", V::kOk, {}, {}, "every protocol carries them"};
    return {"codecs", V::kWarn, {}, {}, std::move(lacks), "publish H264 and AAC where all players must be reached"};
}

Check keyframe_age(const StreamFacts& p) {
    if (!has_video(p)) return unknown("keyframe_age", "s", "there is no video");
    const int64_t since = p.health.keyframe_at_ms() ? p.health.keyframe_at_ms() : p.health.started_ms();
    const int64_t age_ms = p.now_ms - since;
    return advised(
        {"keyframe_age", grade(static_cast<double>(age_ms), kKeyframeWarnMs, kKeyframeBadMs), seconds(age_ms), "s",
         p.health.keyframes() ? "since the last keyframe" : "no keyframe has been received"},
        "new players wait, or begin far in the past: let the encoder send a keyframe every 2 s");
}

Check gop_length(const StreamFacts& p) {
    if (p.health.keyframes() < 2) return unknown("gop_length", "s", "fewer than two keyframes have been received");
    const int64_t longest = p.health.longest_gop_ms();
    return advised({"gop_length", longest > kGopWarnMs ? V::kWarn : V::kOk, seconds(longest), "s",
                    fmt::format("the longest distance between two keyframes; the last one was {:.3g} s",
                                seconds(p.health.last_gop_ms()))},
                   "new players begin up to this far in the past, and a player that was too slow skips this "
                   "much: let the encoder send a keyframe every 2 s");
}

Check gop_hls_fragment(const StreamFacts& p) {
    constexpr std::string_view kName = "gop_hls_fragment";
    if (!p.hls_fragment) return unknown(kName, "s", "HLS is off for this vhost");
    if (p.health.keyframes() < 2) return unknown(kName, "s", "fewer than two keyframes have been received");
    const int64_t gop_ms = p.health.longest_gop_ms();
    const double fragment = *p.hls_fragment;
    if (seconds(gop_ms) <= fragment * kFragmentTolerance)
        return {kName, V::kOk, seconds(gop_ms), "s", fmt::format("hls_fragment is {} s", fragment)};
    return {kName,
            V::kWarn,
            seconds(gop_ms),
            "s",
            fmt::format("the distance between keyframes is more than hls_fragment, {} s: segments are longer "
                        "than configured",
                        fragment),
            fmt::format("let the encoder send a keyframe at least every {} s, or raise hls_fragment", fragment)};
}

Check gop_cache(const StreamFacts& p) {
    if (!p.gop_too_long) return {"gop_cache", V::kOk, {}, {}, "the GOP fits into the cache"};
    return {"gop_cache",
            V::kWarn,
            {},
            {},
            "the GOP is longer than gop_cache_max_frames, or larger than stream_memory allows: it is "
            "not cached",
            "new players show nothing until the next keyframe: let the encoder send one every 2 s"};
}

Check b_frames(const StreamFacts& p) {
    if (!has_video(p)) return unknown("b_frames", "%", "there is no video");
    const live::Health::Window recent = p.health.recent();
    if (recent.video_frames == 0) return unknown("b_frames", "%", "it has not been measured for long enough yet");
    const double share = 100.0 * recent.b_frames / recent.video_frames;
    if (recent.b_frames == 0) return {"b_frames", V::kOk, 0, "%", "none"};
    return {"b_frames",
            V::kWarn,
            share,
            "%",
            "frames that are shown before frames that were sent earlier",
            "WebRTC drops them, and they add delay: if that matters, encode without them (x264: "
            "bframes=0, or tune zerolatency)"};
}

// Drift of audio and video relative to each other.
Check drift(const StreamFacts& p) {
    constexpr std::string_view kName = "audio_video_drift";
    const live::Health::Point& from = p.health.anchor();
    const live::Health::Point& to = p.health.newest();
    const int64_t baseline = to.now_ms - from.now_ms;
    if (!from.has_both() || !to.has_both())
        return unknown(kName, "ms", "the stream does not have both audio and video");
    if (baseline < kLeastBaselineMs) return unknown(kName, "ms", "it has been measured for less than 30 s");
    const auto drift =
        static_cast<double>(media::to_ms((to.audio_dts - to.video_dts) - (from.audio_dts - from.video_dts)));
    return advised({kName, grade(std::abs(drift), kDriftWarn, kDriftBad), drift, "ms",
                    fmt::format("within {:.0f} s audio has {} video by this much", seconds(baseline),
                                drift >= 0 ? "run ahead of" : "fallen behind")},
                   "the publisher's clocks for audio and video differ, or one track loses frames: check the "
                   "encoder's sample rate and frame rate");
}

Check offset(const StreamFacts& p) {
    constexpr std::string_view kName = "audio_video_offset";
    const live::Health::Point& at = p.health.newest();
    if (!at.has_both()) return unknown(kName, "ms", "the stream does not have both audio and video");
    const auto offset = static_cast<double>(media::to_ms(at.audio_dts - at.video_dts));
    return advised({kName, grade(std::abs(offset), kOffsetWarn, kOffsetBad), offset, "ms",
                    "the timestamp of audio minus that of the video received at the same time"},
                   "players must buffer this much; if it grows, one of the tracks has stopped");
}

// The rate of the stream's timestamps relative to the clock.
Check clock_rate(const StreamFacts& p) {
    constexpr std::string_view kName = "clock_rate";
    const live::Health::Point& from = p.health.anchor();
    const live::Health::Point& to = p.health.newest();
    const int64_t baseline = to.now_ms - from.now_ms;
    if (from.now_ms == 0 || baseline < kLeastBaselineMs)
        return unknown(kName, "%", "it has been measured for less than 30 s");
    const bool video = from.video_dts != media::kNoTime && to.video_dts != media::kNoTime;
    const int64_t passed = media::to_ms(video ? to.video_dts - from.video_dts : to.audio_dts - from.audio_dts);
    const double off = 100.0 * static_cast<double>(passed - baseline) / static_cast<double>(baseline);
    return advised(
        {kName, grade(std::abs(off), kClockWarn, kClockBad), off, "%",
         fmt::format("this much {} than the clock, over {:.0f} s", off >= 0 ? "faster" : "slower", seconds(baseline))},
        off < 0 ? "players will pause to buffer: the encoder or its network is too slow"
                : "the delay of players grows: the publisher sends faster than the clock (a file without "
                  "-re?)");
}

Check timestamp_jumps(const StreamFacts& p) {
    const uint64_t jumps = p.counters.timeline_jumps;
    if (jumps == 0) return {"timestamp_jumps", V::kOk, 0, "times", "none"};
    const int64_t ago = p.now_ms - p.jumped_at_ms;
    return {"timestamp_jumps",
            ago < kLatelyMs ? V::kWarn : V::kOk,
            static_cast<double>(jumps),
            "times",
            fmt::format("the last one {:.0f} s ago; they were corrected for players", seconds(ago)),
            ago < kLatelyMs ? "the publisher's timestamps jumped: check its clock, its source, or the reason why it "
                              "restarts"
                            : ""};
}

Check input_faults(const StreamFacts& p) {
    constexpr std::string_view kName = "input_faults";
    if (!p.faults) return unknown(kName, "messages", "they are not counted for this protocol");
    if (p.faults->total() == 0) return {kName, V::kOk, 0, "messages", "none was dropped"};
    std::string kinds;
    for (size_t i = 0; i < live::InputFaults::kKinds; ++i)
        if (const uint64_t count = p.faults->counts()[i]; count > 0)
            kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count,
                                 live::InputFaults::name(static_cast<live::InputFaults::Kind>(i)));
    const int64_t ago = p.now_ms - p.faults->last_ms();
    return {
        kName,
        ago < kLatelyMs ? V::kWarn : V::kOk,
        static_cast<double>(p.faults->total()),
        "messages",
        fmt::format("dropped, because they cannot be used: {}; the last one {:.0f} s ago: {}", kinds, seconds(ago),
                    p.faults->last_text()),
        ago < kLatelyMs ? "what the text names is missing for players: check the publisher's codecs and version" : ""};
}

Check viewer_drops(const StreamFacts& p) {
    const live::StreamCounters& c = p.counters;
    if (c.viewer_jumps == 0)
        return {"viewer_drops", V::kOk, 0, "times", fmt::format("none of {} viewers was too slow", p.viewers)};
    return {"viewer_drops",
            V::kWarn,
            static_cast<double>(c.viewer_jumps),
            "times",
            fmt::format("{} viewers were too slow and skipped to a later keyframe; they missed {} bytes; there "
                        "are {} viewers now",
                        c.jumped_viewers, c.skipped_bytes, p.viewers),
            "their networks are too slow for the stream: offer a lower bitrate; queue_length is the "
            "allowed delay"};
}

Check frame_rate(const StreamFacts& p) {
    if (!has_video(p)) return unknown("frame_rate", "fps", "there is no video");
    const live::Health::Window recent = p.health.recent();
    if (recent.ms() < kLeastWindowMs || recent.video_frames < 2)
        return unknown("frame_rate", "fps", "it has not been measured for long enough yet");
    const double fps = recent.video_frames * 1000.0 / static_cast<double>(recent.ms());
    const double limit = std::max(kStepLeastMs, kStepWarn * 1000 / fps);
    const int64_t longest_ms = media::to_ms(recent.longest_video_step);
    const bool steady = static_cast<double>(longest_ms) <= limit;
    return {"frame_rate",
            steady ? V::kOk : V::kWarn,
            fps,
            "fps",
            fmt::format("the longest step between two frames of the last {:.0f} s is {} ms", seconds(recent.ms()),
                        longest_ms),
            steady ? "" : "frames are missing: the encoder drops frames, or its source has gaps"};
}

Check bitrate(const StreamFacts& p) {
    const live::Health::Window recent = p.health.recent();
    if (recent.ms() < kLeastWindowMs)
        return unknown("bitrate", "kbit/s", "it has not been measured for long enough yet");
    const double mean = 8.0 * static_cast<double>(recent.bytes) / static_cast<double>(recent.ms());
    double highest = 0;
    for (size_t i = 0; i < p.health.windows(); ++i) {
        const live::Health::Window& one = p.health.window(i);
        if (one.ms() >= kLeastWindowMs)
            highest = std::max(highest, 8.0 * static_cast<double>(one.bytes) / static_cast<double>(one.ms()));
    }
    const bool steady = highest <= kBitrateWarn * mean;
    return {"bitrate",
            steady ? V::kOk : V::kWarn,
            mean,
            "kbit/s",
            fmt::format("of the last {:.0f} s; the highest within it is {:.0f}", seconds(recent.ms()), highest),
            steady ? ""
                   : "it has bursts that are too fast for slow viewers: give the encoder a rate limit "
                     "(maxrate and bufsize)"};
}

// HLS, recordings, forwards, transcodings; hooks, which are none of its media.
Check outputs(const StreamFacts& p) {
    if (p.outputs.empty()) return {"outputs", V::kOk, 0, "outputs", "none reports a problem"};
    std::string text;
    bool media = false;
    for (const StreamOutput& one : p.outputs) {
        const bool is_program = one.output == "transcode" || one.output == "exec";
        const std::string to = one.to.empty() ? "" : fmt::format(" {}{}:", is_program ? "" : "to ", one.to);
        text += fmt::format("{}{}:{} {}", text.empty() ? "" : "; ", one.output, to, one.problem);
        media |= one.output != "hook";
    }
    return {"outputs",
            media ? V::kBad : V::kWarn,
            static_cast<double>(p.outputs.size()),
            "outputs",
            std::move(text),
            "the log has when it began; the stream itself is not concerned"};
}

}  // namespace

std::vector<Check> diagnose(const StreamFacts& p) {
    if (!p.published) return {published(p), timestamp_jumps(p), viewer_drops(p)};
    return {published(p),  headers(p),  codecs(p),       keyframe_age(p), gop_length(p), gop_hls_fragment(p),
            gop_cache(p),  b_frames(p), drift(p),        offset(p),       clock_rate(p), timestamp_jumps(p),
            frame_rate(p), bitrate(p),  input_faults(p), viewer_drops(p), outputs(p)};
}

CheckVerdict worst(const std::vector<Check>& checks) {
    V all = V::kOk;
    for (const Check& check : checks)
        if (check.verdict != V::kUnknown) all = std::max(all, check.verdict);
    return all;
}

StreamVerdict verdict_of(std::vector<Check> checks) {
    Check* cause = nullptr;
    for (Check& check : checks) {
        const bool is_chosen = check.name == "codecs" || check.name == "b_frames";
        if (check.verdict < V::kWarn || is_chosen) continue;
        if (!cause || check.verdict > cause->verdict) cause = &check;
    }
    if (!cause) return {};
    return {.level = cause->verdict == V::kBad ? VerdictLevel::kSick : VerdictLevel::kNotice,
            .code = cause->name,
            .figure = cause->figure,
            .unit = cause->unit,
            .text = std::move(cause->text),
            .advice = std::move(cause->advice)};
}

}  // namespace service::api
