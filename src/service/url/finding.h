#pragma once
// What a check of a URL finds, and the line of configuration that mends it. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "service/check_verdict.h"
#include "service/url/facts.h"

namespace service::url {

using Verdict = CheckVerdict;

struct Finding {
    std::string_view check{};  // a literal; doc/why.md lists them
    Verdict verdict = Verdict::kOk;
    std::string text{};    // what was found
    std::string line{};    // the line of configuration that mends it; empty: none does
    std::string where{};   // where the line belongs; empty: anywhere
    std::string url{};     // the URL that is to be used instead; empty: this one
    std::string advice{};  // what else can be done; empty: nothing
    // Why it must not be tried to play: somebody else would notice it. Empty: it may be.
    std::string keeps_from_playing{};
};
using Findings = std::vector<Finding>;

// The worst verdict; unknown counts as good.
Verdict worst(const Findings& findings);

// A bad finding whose line sets a directive. vhost: empty for directives outside of vhosts.
Finding missing(const Facts& facts, std::string_view check, std::string text, std::string_view vhost,
                std::string_view path, std::string_view value);
// The protocol does not carry the codec.
Finding uncarried(std::string_view by, media::Codec codec);
// The publisher's video codecs that older players do not know.
void add_newer_codecs(const PublishedStream& stream, std::string_view by, Findings& findings);

// Whether the value of a directive of the type on|off is on. vhost: null for those outside of vhosts. Unknown
// directives, of services that are not built in, are off.
bool is_on(const config::Snapshot& snapshot, const config::Vhost* vhost, std::string_view path);

// "vhost a.com { rtc { enabled on; } }" for "vhost/rtc/enabled"; "listen 1935;". For a configuration by the environment
// alone "SRS_VHOST_RTC_ENABLED=on".
std::string config_line(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path,
                        std::string_view value);
// "instead of conf/srs.conf:12", where the directive is given now; "in the vhost around conf/srs.conf:3", as far as it
// is known where the vhost is; empty: anywhere.
std::string where_to(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path);
// All words, and one more: of a directive that has several.
std::string with_word(const std::vector<std::string>& words, const std::string& more);

}  // namespace service::url
