#pragma once
// SessionTrack: a track as the descriptions of RTSP have it (RFC 8866, RFC 2326, C): payload type, format, control URL.
// Written for players (write.h) and read from publishers and cameras (read.h). WebRTC's descriptions are
// negotiation.h's.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "media/codec.h"
#include "protocol/rtp/payload/format.h"
#include "protocol/sdp/media_facts.h"

namespace sdp {

struct SessionTrack {
    media::Kind kind = media::Kind::kVideo;
    uint8_t index = 0;  // among the tracks of its kind: media::Frame::track
    uint8_t payload_type = 96;
    rtp::PayloadFormat format;
    std::string fmtp;  // as in the description; empty: none
    // H.264 and HEVC: the NAL units of sprop-parameter-sets or sprop-vps, -sps, -pps; empty: they are in the stream.
    std::vector<std::vector<uint8_t>> parameter_sets;
    // The URL for SETUP. Read: absolute. Written: as in the description, "trackID=0".
    std::string control;
    std::string language;  // a=lang; empty: none
    uint32_t kbps = 0;     // b=AS; 0: not known
    Direction direction = Direction::kSendRecv;
};

// The encoding name of rtpmap, "H264"; empty: RTP does not carry the codec.
std::string_view encoding_name(const rtp::PayloadFormat& format);

}  // namespace sdp
