#pragma once
// Elementary: frames as the bytes of an elementary stream in a transport stream, without copying payloads: H.264 and
// HEVC as a byte stream with start codes (annex B of both), an access unit delimiter first and the parameter sets
// before a keyframe; AAC with ADTS headers; Opus with control headers; MP3 and AC-3 as they are.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/aac.h"
#include "media/frame.h"

namespace ts {

// What stands together on the wire, in order. The bytes live as long as the frame and the one who made them.
using Pieces = std::vector<std::span<const uint8_t>>;

class VideoElementary {
  public:
    // More NAL units than any encoder makes of a picture: the frame is left out.
    static constexpr size_t kMaxUnits = 2000;

    // header: a sequence header. After an error no frame is carried until a good one comes.
    base::Result<void> set_header(const media::Frame& header);
    void reset() { codec_ = media::Codec::kNone; }
    // kNone: frames cannot be written.
    media::Codec codec() const { return codec_; }

    // Appends the access unit's pieces and returns their bytes in all; 0, and nothing appended, when the frame cannot
    // be written. Delimiters that the frame has are left out; a keyframe with parameter sets of its own keeps those.
    // Where a length prefix does not fit, the units before it are taken.
    size_t append(const media::Frame& frame, Pieces& pieces) const;

  private:
    media::Codec codec_ = media::Codec::kNone;
    int nalu_length_size_ = 4;
    std::vector<uint8_t> keyframe_prefix_;  // delimiter, parameter sets, start code
};

class AudioElementary {
  public:
    static constexpr size_t kMaxHeader = 64;
    // What one PES packet can hold.
    static constexpr size_t kMaxFrame = 60'000;

    base::Result<void> set_header(const media::Frame& header);
    void reset() { *this = {}; }
    // For codecs without sequence header; of others the codec stays unknown until their header comes.
    void set_codec(media::Codec codec);

    media::Codec codec() const { return codec_; }
    uint8_t opus_channels() const { return opus_channels_; }
    bool low_rate_mp3() const { return low_rate_mp3_; }

    // Learns from a frame what a codec without sequence header does not tell otherwise. Asked of each frame first.
    void note(const media::Frame& frame);
    // Writes what stands before the frame's payload and returns its size; nothing when the frame cannot be written.
    std::optional<size_t> put_header(const media::Frame& frame, uint8_t out[kMaxHeader]) const;

  private:
    media::Codec codec_ = media::Codec::kNone;
    media::AacConfig aac_;
    uint8_t opus_channels_ = 2;
    bool low_rate_mp3_ = false;
};

}  // namespace ts
