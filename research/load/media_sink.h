#pragma once
// What the skimmers say of a media message (of RTP: of an access unit): that its last byte has come, and how it begins.
// The payload is passed over.

#include <cstddef>
#include <cstdint>
#include <span>

namespace load {

// Bytes of each message that are kept while it comes.
inline constexpr size_t kHeadBytes = 64;

struct MediaMessage {
    uint8_t type = 0;        // 8 audio, 9 video, 18 data; RTMP's other media types as they are
    uint32_t timestamp = 0;  // ms
    uint32_t size = 0;       // bytes of the body
    std::span<const uint8_t> head;

    bool is_video() const { return type == 9; }
    bool is_audio() const { return type == 8; }
    // A decoder's configuration rather than a frame: legacy AVC, HEVC and AAC, and Enhanced RTMP's packet type 0.
    bool is_sequence_header() const {
        if (head.size() < 2) return false;
        if (is_video()) return head[0] & 0x80 ? (head[0] & 0x0f) == 0 : head[1] == 0;
        if (is_audio()) return head[0] >> 4 == 9 ? (head[0] & 0x0f) == 0 : head[0] >> 4 == 10 && head[1] == 0;
        return false;
    }
    bool is_frame() const { return (is_video() || is_audio()) && size > 1 && !is_sequence_header(); }
};

class MediaSink {
  public:
    virtual void on_media(const MediaMessage& message) = 0;
    // An RTP packet has arrived. missing: how many were left out before it; -1: it comes late, having been one of
    // these.
    virtual void on_packet(int missing) { (void)missing; }

  protected:
    ~MediaSink() = default;
};

}  // namespace load
