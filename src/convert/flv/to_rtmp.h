#pragma once
// Frames as RTMP chunks, for the live log of each set of parameters: chunk size, message stream id, which kinds are
// wanted (receiveAudio, receiveVideo), whether with all tracks, and whether they go to players or are published to
// another server. The body of each message is an FLV tag's (protocol/flv). Every packet begins with a type 0 header. A
// player chooses none of them but the kinds and all tracks: the message stream id that it plays on is written over the
// log's where it differs (service/rtmp).

#include <cstdint>
#include <memory>

#include "live/fanout/wire_encoder.h"

namespace convert {

struct RtmpParameters {
    uint32_t chunk_size = 60000;
    uint32_t stream_id = 1;  // another one only where it is published to another server
    bool audio = true;
    bool video = true;
    // Else the first of each kind, for players that know no other.
    bool all_tracks = false;
    // Metadata is told as publishers tell it: by @setDataFrame.
    bool publish = false;

    live::LogKey key() const;
};

}  // namespace convert
