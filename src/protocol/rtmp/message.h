#pragma once
// One RTMP message (Adobe RTMP 1.0, 6.1) and the ids that all files of this folder use.

#include <cstdint>

#include "base/slice.h"

namespace rtmp {

enum MessageType : uint8_t {
    kSetChunkSize = 1,
    kAbort = 2,
    kAcknowledgement = 3,
    kUserControl = 4,
    kWindowAckSize = 5,
    kSetPeerBandwidth = 6,
    kAudio = 8,
    kVideo = 9,
    kDataAmf3 = 15,
    kSharedObjectAmf3 = 16,
    kCommandAmf3 = 17,
    kData = 18,
    kSharedObject = 19,
    kCommand = 20,
    kAggregate = 22,
};

// Chunk stream ids used for sending. Ids below 64 take one byte; 2 is reserved for control messages.
inline constexpr uint32_t kControlChunkStream = 2;
inline constexpr uint32_t kCommandChunkStream = 3;
inline constexpr uint32_t kStatusChunkStream = 5;
inline constexpr uint32_t kAudioChunkStream = 4;
inline constexpr uint32_t kVideoChunkStream = 6;
inline constexpr uint32_t kDataChunkStream = 7;

inline constexpr uint32_t kDefaultChunkSize = 128;  // bytes, both ways, until a Set Chunk Size
inline constexpr uint32_t kMinChunkSize = 16;       // for sending: a control message always fits in one chunk
inline constexpr uint32_t kMaxMessage = 0xffffff;   // bytes of a message, and the largest effective chunk size

struct Message {
    uint8_t type = 0;
    uint32_t csid = 0;
    uint32_t stream_id = 0;
    uint32_t timestamp = 0;  // ms, modulo 2^32
    base::Slice payload;
};

}  // namespace rtmp
