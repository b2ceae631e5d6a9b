#pragma once
// Reads the descriptions of RTSP publishers (ANNOUNCE) and of cameras and servers (the answer to DESCRIBE). Lenient
// where devices differ: malformed lines are skipped, rtpmap may be missing for static payload types, fmtp may be
// missing, control URLs may be absolute, relative or "*". A track that cannot be used is skipped with a reason; a
// description without a usable track is not an error here. Limits are those of description.h, and kMaxSessionTracks.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/sdp/session/track.h"
#include "protocol/sdp/session/write.h"

namespace sdp {

inline constexpr size_t kMaxSessionTracks = 16;

struct ReadSession {
    std::string name;                   // s=
    std::string control;                // absolute: the URL of PLAY, RECORD and TEARDOWN
    std::string range;                  // a=range, "npt=0-"; empty: none
    std::vector<SessionTrack> tracks;   // in the order of the description; at most media::kMaxTracks of each kind
    std::vector<SkippedTrack> skipped;  // at most kMaxSessionTracks; further ones are not listed
    std::vector<std::string> warnings;  // defects of used tracks, "AAC: config is missing"; at most two for each track
};

// base: Content-Base, else Content-Location, else the URL of the request; a user and password in it are left out.
base::Result<ReadSession> read_session_text(std::string_view text, std::string_view base);

// The track that a SETUP request or RTP-Info means: its control URL is `url`, has the same path, also with the query of
// the session's URL behind the control, or ends with it. A
// session of one track may be requested by the session's own URL. Nothing: there is none.
std::optional<size_t> find_track(const ReadSession& session, std::string_view url);

}  // namespace sdp
