#include "server/why/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/directive.h"
#include "server/why/config_line.h"

namespace server::why {

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

Findings evaluate(const Facts& facts) {
    Findings findings;
    check_addresses(facts, findings);
    if (!check_vhost(facts, findings)) return findings;
    const config::Vhost* vhost = facts.snapshot.vhost(facts.target.vhost);
    if (!vhost) return findings;
    check_access(facts, *vhost, findings);
    check_stream(facts, *vhost, findings);
    if (facts.target.protocol == Protocol::kWebrtc) check_candidates(facts, findings);
    return findings;
}

Verdict worst(const Findings& findings) {
    Verdict worst = Verdict::kOk;
    for (const Finding& finding : findings)
        if (finding.verdict != Verdict::kUnknown) worst = std::max(worst, finding.verdict);
    return worst;
}

}  // namespace server::why
