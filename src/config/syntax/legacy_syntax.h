#pragma once
// Directives of SRS 1 to 4 that have another structure today, not only another name (directive.h has aliases for
// those).

#include <vector>

#include "config/syntax/parser.h"

namespace config {

// Rewrites them in place in today's form, with a warning each:
//   forward HOST...;                          forward { enabled on; destination HOST...; }
//   refer D...; refer_play D...; refer_publish D...;    refer { enabled on; all D...; play D...; publish D...; }
//   mr { enabled E; latency MS; }             publish { mr E; mr_latency MS; }
//   nack { enabled E; no_copy E; }            rtc { nack E; nack_no_copy E; }
//   twcc { enabled E; }                       rtc { twcc E; }
//   rtc { aac transcode; bframe keep; }       rtc { rtmp_to_rtc on; keep_bframe on; }
void rewrite_legacy_syntax(std::vector<Node>& nodes, Problems& problems);

}  // namespace config
