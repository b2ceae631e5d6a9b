#pragma once
// SDP fragments that carry ICE data only (RFC 8840, 9; application/trickle-ice-sdpfrag): candidates that a client found
// later, or new credentials, which mean an ICE restart. All media share one transport, so sections are distinguished
// only in writing. The limits of description.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/sdp/candidate.h"
#include "protocol/sdp/media_facts.h"

namespace sdp {

struct Fragment {
    IceCredentials ice;                 // empty: absent
    std::vector<Candidate> candidates;  // at most MediaFacts::kMaxCandidates
    bool end_of_candidates = false;
    bool ice_lite = false;
    std::string mid;         // for writing; empty: none
    std::string media_line;  // "audio 9 UDP/TLS/RTP/SAVPF 111"

    // kProtocol, kLimit.
    static base::Result<Fragment> parse(std::string_view text);
    std::string write() const;
};

}  // namespace sdp
