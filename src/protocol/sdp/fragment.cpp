#include "protocol/sdp/fragment.h"

#include <fmt/format.h>

#include "protocol/sdp/description.h"

namespace sdp {

using base::Code;
using base::fail;
using base::Result;

Result<Fragment> Fragment::parse(std::string_view text) {
    if (text.size() > kMaxBytes)
        return fail(Code::kLimit, fmt::format("a fragment of {} bytes; at most {}", text.size(), kMaxBytes));
    LineReader lines(text);
    MediaSection all;  // the attributes of all sections together
    std::string mid, media_line;
    size_t sections = 0;
    while (TRY(lines.next())) {
        if (lines.letter() == 'm') {
            if (++sections > kMaxMedia) return fail(Code::kLimit, fmt::format("more than {} m= lines", kMaxMedia));
            TRY(read_media_line(lines.value()), fmt::format("line {}", lines.number()));
            if (media_line.empty()) media_line = lines.value();
        }
        if (lines.letter() != 'a') continue;
        Attribute attribute = read_attribute(lines.value());
        for (std::string_view known : {"ice-ufrag", "ice-pwd", "candidate", "end-of-candidates", "ice-lite", "mid"}) {
            if (attribute.name != known) continue;
            if (all.attributes.size() == kMaxAttributes)
                return fail(Code::kLimit, fmt::format("more than {} attributes", kMaxAttributes));
            if (known == "mid" && mid.empty()) mid = attribute.value;
            all.attributes.push_back(std::move(attribute));
            break;
        }
    }
    MediaFacts facts = TRY(read_media(all));
    if (facts.ice.ufrag.empty() != facts.ice.pwd.empty())
        return fail(Code::kProtocol, "ice-ufrag and ice-pwd belong together");
    if (facts.ice.ufrag.empty() && facts.candidates.empty() && !facts.end_of_candidates)
        return fail(Code::kProtocol, "the fragment has nothing of ICE");
    Fragment fragment;
    fragment.ice = std::move(facts.ice);
    fragment.candidates = std::move(facts.candidates);
    fragment.end_of_candidates = facts.end_of_candidates;
    fragment.ice_lite = facts.ice_lite;
    fragment.mid = std::move(mid);
    fragment.media_line = std::move(media_line);
    return fragment;
}

std::string Fragment::write() const {
    std::string out;
    auto line = [&](std::string_view name, std::string_view value) {
        out += value.empty() ? fmt::format("a={}\r\n", name) : fmt::format("a={}:{}\r\n", name, value);
    };
    if (ice_lite) line("ice-lite", {});
    if (!ice.ufrag.empty()) {
        line("ice-ufrag", ice.ufrag);
        line("ice-pwd", ice.pwd);
    }
    out += fmt::format("m={}\r\n", media_line.empty() ? "audio 9 UDP/TLS/RTP/SAVPF 0" : media_line);
    if (!mid.empty()) line("mid", mid);
    for (const Candidate& candidate : candidates) line("candidate", candidate.write());
    if (end_of_candidates) line("end-of-candidates", {});
    return out;
}

}  // namespace sdp
