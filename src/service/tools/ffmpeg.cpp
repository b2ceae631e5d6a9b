#include "service/tools/ffmpeg.h"

#include <fmt/format.h>

#include <algorithm>

namespace service::tools {

namespace {

constexpr std::string_view kCopy = "copy", kNoVideo = "vn", kNoAudio = "an", kOff = "off";

using Arguments = std::vector<std::string>;

void add(Arguments& to, std::string name, std::string value) {
    to.push_back(std::move(name));
    to.push_back(std::move(value));
}

void add_options(Arguments& to, const Options& options) {
    for (const Option& option : options) {
        to.push_back("-" + option.front());
        // `re "";` is a way to write an option without a value.
        for (size_t i = 1; i < option.size(); ++i)
            if (!option[i].empty()) to.push_back(option[i]);
    }
}

bool has_option(const Options& options, std::string_view name) {
    return std::ranges::any_of(options, [&](const Option& option) { return option.front() == name; });
}

bool encodes_video(const Encoder& e) { return e.vcodec != kNoVideo && e.vcodec != kCopy; }

// Encoders put keyframes at changes of scene, too, which are not the same in all sizes: x264 is told not to.
void add_keyframes(Arguments& to, const Encoder& e, double interval) {
    if (has_option(e.vparams, "force_key_frames")) return;
    add(to, "-force_key_frames", fmt::format("expr:gte(t,n_forced*{})", interval));
    if (e.vcodec == "libx264" && !has_option(e.vparams, "sc_threshold")) add(to, "-sc_threshold", "0");
}

void add_video(Arguments& to, const Encoder& e, double keyframe_interval) {
    add_options(to, e.vfilter);
    if (e.vcodec == kNoVideo) return to.push_back("-vn");
    if (!e.vcodec.empty()) add(to, "-vcodec", e.vcodec);
    if (e.vcodec == kCopy) return;
    if (e.vbitrate > 0) add(to, "-b:v", std::to_string(int64_t{e.vbitrate} * 1000));
    if (e.vfps > 0) add(to, "-r", fmt::format("{}", e.vfps));
    const int width = e.vwidth / 2 * 2, height = e.vheight / 2 * 2;
    if (width > 0 && height > 0) {
        add(to, "-s", fmt::format("{}x{}", width, height));
        add(to, "-aspect", fmt::format("{}:{}", width, height));
    }
    if (e.vthreads > 0) add(to, "-threads", std::to_string(e.vthreads));
    if (!e.vprofile.empty()) add(to, "-profile:v", e.vprofile);
    if (!e.vpreset.empty()) add(to, "-preset", e.vpreset);
    if (keyframe_interval > 0) add_keyframes(to, e, keyframe_interval);
    add_options(to, e.vparams);
}

void add_audio(Arguments& to, const Encoder& e) {
    if (e.acodec == kNoAudio) return to.push_back("-an");
    if (!e.acodec.empty()) add(to, "-acodec", e.acodec);
    if (e.acodec == kCopy) {
        // What an encoder would be told has no meaning; the filter for AAC from MPEG-TS has.
        for (const Option& option : e.aparams)
            if (option.size() > 1 && option[0] == "bsf:a" && option[1] == "aac_adtstoasc")
                add(to, "-bsf:a", "aac_adtstoasc");
        return;
    }
    if (e.abitrate > 0) add(to, "-b:a", std::to_string(int64_t{e.abitrate} * 1000));
    if (e.asample_rate > 0) add(to, "-ar", std::to_string(e.asample_rate));
    if (e.achannels > 0) add(to, "-ac", std::to_string(e.achannels));
    add_options(to, e.aparams);
}

void add_output(Arguments& to, const Output& output, double keyframe_interval) {
    std::string format = "flv";
    if (output.encoder && !output.copies) {
        add_video(to, *output.encoder, keyframe_interval);
        add_audio(to, *output.encoder);
        format = output.encoder->oformat == kOff ? "" : output.encoder->oformat;
    } else {
        add(to, "-vcodec", "copy");
        add(to, "-acodec", "copy");
    }
    if (!format.empty()) add(to, "-f", std::move(format));
    add(to, "-y", output.url);
}

}  // namespace

bool has_same_input(const Encoder& a, const Encoder& b) {
    return a.perfile == b.perfile && a.iformat == b.iformat && !has_option(a.vfilter, "i") &&
           !has_option(b.vfilter, "i");
}

std::vector<std::string> ffmpeg_arguments(const std::string& program, const std::string& log_level,
                                          const FfmpegInput& input, std::span<const Output> outputs,
                                          double keyframe_interval) {
    static const Encoder kPlain;
    const Encoder& first = outputs.empty() || !outputs[0].encoder ? kPlain : *outputs[0].encoder;
    Arguments all{program};
    if (!log_level.empty() && log_level != "info") add(all, "-loglevel", log_level);
    if (input.in_real_time && !has_option(first.perfile, "re")) all.emplace_back("-re");
    if (input.again_and_again && !has_option(first.perfile, "stream_loop")) add(all, "-stream_loop", "-1");
    add_options(all, first.perfile);
    if (!first.iformat.empty() && first.iformat != kOff && input.url.starts_with("rtmp://"))
        add(all, "-f", first.iformat);
    add(all, "-i", input.url);
    const auto encoding = std::ranges::count_if(outputs, [](const Output& output) {
        return output.encoder && !output.copies && encodes_video(*output.encoder);
    });
    for (const Output& output : outputs) add_output(all, output, encoding > 1 ? keyframe_interval : 0);
    return all;
}

}  // namespace service::tools
