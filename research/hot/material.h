#pragma once
// Material: two seconds of a 237 kbit/s stream (25 video frames and 43 audio frames a second, one keyframe), the same
// bytes in every run: as frames, and as a publisher's chunks.

#include <cstdint>
#include <map>
#include <vector>

#include "media/frame.h"
#include "protocol/amf/value.h"

namespace hot {

class Material {
  public:
    Material();

    const std::vector<media::Frame>& frames() const { return frames_; }
    // The frames as RTMP chunks of that size: 128 and 4096 are there.
    const std::vector<uint8_t>& wire(uint32_t chunk_size) const { return wires_.at(chunk_size); }
    // The message that must come before them.
    static std::vector<uint8_t> set_chunk_size(uint32_t size);
    // One NAL unit behind its four bytes of length.
    static media::Frame video_frame(int64_t dts, bool keyframe, size_t bytes);
    const std::vector<amf::Value>& connect_values() const { return connect_values_; }
    const std::vector<uint8_t>& connect_command() const { return connect_command_; }

  private:
    void add(media::Kind kind, int64_t dts, bool keyframe, size_t bytes);

    std::vector<media::Frame> frames_;
    std::map<uint32_t, std::vector<uint8_t>> wires_;
    std::vector<amf::Value> connect_values_;
    std::vector<uint8_t> connect_command_;
};

}  // namespace hot
