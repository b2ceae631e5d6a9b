#include "service/url/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/directive.h"
#include "config/value.h"

namespace service::url {

Verdict worst(const Findings& findings) {
    Verdict worst = Verdict::kOk;
    for (const Finding& finding : findings)
        if (finding.verdict != Verdict::kUnknown) worst = std::max(worst, finding.verdict);
    return worst;
}

Finding missing(const Facts& facts, std::string_view check, std::string text, std::string_view vhost,
                std::string_view path, std::string_view value) {
    const config::Row* row = config::find_row(path);
    const bool needs_restart = facts.live && row && row->apply == config::kRestart;
    return {.check = check,
            .verdict = Verdict::kBad,
            .text = std::move(text),
            .line = config_line(facts.snapshot, vhost, path, value),
            .where = where_to(facts.snapshot, vhost, path),
            .advice = needs_restart ? "the server has to be restarted then: a reload does not change it" : ""};
}

Finding uncarried(std::string_view by, media::Codec codec) {
    return {.check = "codecs",
            .verdict = Verdict::kBad,
            .text = fmt::format("{} does not carry {}", by, media::codec_info(codec).name),
            .advice = "publish H264 and AAC"};
}

void add_newer_codecs(const PublishedStream& stream, std::string_view by, Findings& findings) {
    for (const media::Codec codec : stream.video) {
        if (codec == media::Codec::kH264) continue;
        findings.push_back({.check = "codecs",
                            .verdict = Verdict::kWarn,
                            .text = fmt::format("the video is {}, which older players of {} do not know",
                                                media::codec_info(codec).name, by),
                            .advice = "publish H264 where all players must be reached"});
    }
}

bool is_on(const config::Snapshot& snapshot, const config::Vhost* vhost, std::string_view path) {
    const config::Row* row = config::find_row(path);
    return row && row->supported() && row->binding.get({&snapshot, vhost}) == "on";
}

std::string with_word(const std::vector<std::string>& words, const std::string& more) {
    std::string all;
    for (const std::string& word : words) all += config::quote_if_needed(word) + " ";
    return all + config::quote_if_needed(more);
}

}  // namespace service::url
