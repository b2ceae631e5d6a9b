// Whether somebody publishes the stream, what is published under a similar name, and whether the protocol carries its
// codecs.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/nearest.h"
#include "server/why/evaluate.h"
#include "server/why/protocols.h"
#include "server/why/target.h"

namespace server::why {
namespace {

using service::url::Live;
using service::url::PublishedStream;

// A published stream that was probably meant; null: none.
const base::StreamKey* find_similar(const std::vector<base::StreamKey>& published, const base::StreamKey& named) {
    // The same stream in another vhost; in another app; a name that is like it.
    const auto same_path = [&](const base::StreamKey& key) { return key.app == named.app && key.name == named.name; };
    if (auto found = std::ranges::find_if(published, same_path); found != published.end()) return &*found;
    const auto same_name = [&](const base::StreamKey& key) {
        return key.vhost == named.vhost && key.name == named.name;
    };
    if (auto found = std::ranges::find_if(published, same_name); found != published.end()) return &*found;
    // Of another server's form, APP/STREAM/index.m3u8.
    const auto is_app = [&](const base::StreamKey& key) {
        return key.vhost == named.vhost && named.name == "index" && key.app + "/" + key.name == named.app;
    };
    if (auto found = std::ranges::find_if(published, is_app); found != published.end()) return &*found;
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
        if (live.stream->is_of_other_process) {
            findings.push_back({.check = "publisher",
                                .text = fmt::format("{} is published in the other process of the upgrade, from where "
                                                    "this one fetches it for its players",
                                                    shown(named))});
            return;
        }
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

std::string codecs_text(const PublishedStream& stream) {
    std::string text;
    for (const auto* codecs : {&stream.video, &stream.audio})
        for (const media::Codec codec : *codecs)
            text += (text.empty() ? "" : ", ") + std::string(media::codec_info(codec).name);
    return text;
}

// Conversions and codecs, which are the services'.
void check_players(const Facts& facts, const config::Vhost& vhost, const PublishedStream& stream, Findings& findings) {
    if (stream.is_of_other_process) return;
    const size_t before = findings.size();
    for_each_part([&](const service::url::Part& part) {
        if (part.check_stream) part.check_stream(facts, vhost, stream, findings);
    });
    if (findings.size() > before) return;
    if (stream.video.empty() && stream.audio.empty())
        findings.push_back({.check = "codecs",
                            .verdict = Verdict::kUnknown,
                            .text = "no frame has been received from the publisher yet"});
    else
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
    if (facts.live->stream) check_players(facts, vhost, *facts.live->stream, findings);
}

}  // namespace server::why
