#pragma once
// Frames as RTMP chunks, for the live log of each set of parameters: chunk size, message stream id, and which kinds are
// wanted (receiveAudio, receiveVideo). The body of each message is an FLV tag's (protocol/flv). Every packet begins
// with a type 0 header.

#include <cstdint>
#include <memory>

#include "live/wire_encoder.h"

namespace service::rtmp {

struct EncoderParameters {
    uint32_t chunk_size = 60000;
    uint32_t stream_id = 1;
    bool audio = true;
    bool video = true;

    live::LogKey key() const;  // "rtmp/60000/1/av"
    static EncoderParameters of(const live::LogKey& key);
};

// The EncoderFactory for such keys.
std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey& key);

}  // namespace service::rtmp
