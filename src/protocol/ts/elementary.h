#pragma once
// Elementary: converts frames to the elementary stream format of a transport stream, without copying payloads: H.264
// and HEVC as a byte stream with start codes (annex B of both), an access unit delimiter first and the parameter sets
// before a keyframe; AAC with ADTS headers; Opus with control headers; MP3 and AC-3 unchanged.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/aac.h"
#include "media/frame.h"

namespace ts {

// Consecutive parts of the output, in order. The bytes are valid as long as the frame and the object that made them.
using Pieces = std::vector<std::span<const uint8_t>>;

class VideoElementary {
  public:
    // More NAL units than any encoder puts into a frame: such a frame is dropped.
    static constexpr size_t kMaxUnits = 2000;

    // header: a sequence header. After an error no frames are written until a valid one is set.
    base::Result<void> set_header(const media::Frame& header);
    // kNone: frames cannot be written.
    media::Codec codec() const { return codec_; }

    // Appends the parts of the access unit and returns their size in bytes; 0, and nothing appended, when the frame
    // cannot be written. Delimiters in the frame are removed; a keyframe with its own parameter sets keeps them. When a
    // length prefix is invalid, the units before it are used.
    size_t append(const media::Frame& frame, Pieces& pieces) const;

  private:
    media::Codec codec_ = media::Codec::kNone;
    int nalu_length_size_ = 4;
    std::vector<uint8_t> keyframe_prefix_;  // delimiter, parameter sets, start code
};

class AudioElementary {
  public:
    static constexpr size_t kMaxHeader = 64;
    // The limit of one PES packet.
    static constexpr size_t kMaxFrame = 60'000;

    base::Result<void> set_header(const media::Frame& header);
    // For codecs without a sequence header; other codecs stay unknown until their header is set.
    void set_codec(media::Codec codec);

    media::Codec codec() const { return codec_; }
    uint8_t opus_channels() const { return opus_channels_; }
    bool low_rate_mp3() const { return low_rate_mp3_; }

    // Reads the parameters of a codec without a sequence header from a frame, and returns whether they are others than
    // before. Call it for each frame before put_header().
    bool update(const media::Frame& frame);
    // Writes the bytes that precede the frame's payload and returns their size; nothing when the frame cannot be
    // written.
    std::optional<size_t> put_header(const media::Frame& frame, uint8_t out[kMaxHeader]) const;

  private:
    media::Codec codec_ = media::Codec::kNone;
    media::AacConfig aac_;
    uint8_t opus_channels_ = 2;
    bool low_rate_mp3_ = false;
};

}  // namespace ts
