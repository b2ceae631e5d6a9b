#pragma once
// What the casters count, for metrics. Of the loop's thread.

#include <cstdint>

namespace service::caster {

struct CasterStats {
    uint64_t publishers = 0;        // now
    uint64_t refused_unknown = 0;   // datagrams that are no transport stream, or of no announced SSRC
    uint64_t refused_other = 0;     // datagrams from another address than the publisher's
    uint64_t refused_held_off = 0;  // datagrams of a sender that was refused a moment ago
    uint64_t gb_refused = 0;        // connections of GB28181 whose SSRC was not announced, or has a sender
    uint64_t sender_changes = 0;    // a sender that has started again took its own place
};
CasterStats& caster_stats();

}  // namespace service::caster
