#pragma once
// Writes the description of a stream for RTSP: the answer to DESCRIBE, and the body of ANNOUNCE.

#include <string>
#include <vector>

#include "media/track_set.h"
#include "protocol/sdp/session/track.h"

namespace sdp {

struct SkippedTrack {
    size_t media = 0;    // index of the m= line, or of the track in its TrackSet
    std::string reason;  // "Speex: RTP does not carry it"
};

struct TrackOptions {
    // "trackID=" and the index in the result: what the tracks' controls are made of.
    std::string control_prefix = "trackID=";
    // H.264 by single NAL unit packets (packetization-mode=0).
    bool single_nalus = false;
};

// The tracks of a stream that RTP carries. Payload types are 0, 8 and 14 where they are static, others from 96 on in
// the set's order. A track whose decoder configuration has not arrived is written without it, except AAC, which is
// skipped. skipped: may be null.
std::vector<SessionTrack> session_tracks(const media::TrackSet& set, const TrackOptions& options = {},
                                         std::vector<SkippedTrack>* skipped = nullptr);

struct SessionText {
    std::string name = "stream";      // s=; line breaks are replaced
    std::string address = "0.0.0.0";  // of c= and o=, IPv4 or IPv6
    uint64_t id = 0;                  // of o=: session id
    uint64_t version = 0;             // of o=
    std::string control = "*";        // of the whole session; empty: none
    std::string range = "npt=now-";   // a=range; "npt=0-" for ANNOUNCE; empty: none
};

std::string write_session(const SessionText& session, const std::vector<SessionTrack>& tracks);

}  // namespace sdp
