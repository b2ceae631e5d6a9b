#pragma once
// Frames as RTMP chunks, for the live log of each set of parameters: chunk size, message stream id, enabled kinds
// (receiveAudio, receiveVideo), whether with all tracks, and whether they go to players or are published to another
// server. The body of each message is an FLV tag's (protocol/flv). Every packet begins with a type 0 header. A player
// selects only the kinds and all tracks: a different message stream id of the player is written over the log's
// (service/rtmp).

#include <cstdint>
#include <memory>

#include "live/fanout/wire_encoder.h"

namespace convert {

struct RtmpParameters {
    uint32_t chunk_size = 60000;
    uint32_t stream_id = 1;  // differs only when published to another server
    bool audio = true;
    bool video = true;
    // Else the first of each kind, for players that support only one.
    bool all_tracks = false;
    // Metadata in the form that publishers use: with @setDataFrame.
    bool publish = false;

    live::LogKey key() const;
};

}  // namespace convert
