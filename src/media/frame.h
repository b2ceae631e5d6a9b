#pragma once
// Frame: one access unit, one audio frame, one decoder configuration or one data message, on its way through the
// server. Copying a Frame copies references only.

#include <cstdint>

#include "base/slice.h"
#include "media/codec.h"
#include "media/time.h"

namespace media {

// The maximum number of tracks of one kind in a stream.
inline constexpr uint8_t kMaxTracks = 8;

struct Frame {
    Kind kind = Kind::kData;
    Codec codec = Codec::kNone;
    // A video frame at which decoding can start. False for audio and data frames.
    bool keyframe = false;
    // The payload is the decoder's configuration: AVCDecoderConfigurationRecord, HEVCDecoderConfigurationRecord,
    // AV1CodecConfigurationRecord, VPCodecConfigurationRecord, AudioSpecificConfig, OpusHead, FLAC STREAMINFO ... Or it
    // is the metadata that describes the whole stream.
    bool sequence_header = false;
    // A video frame that no other frame references.
    bool disposable : 1 = false;
    // A discontinuity: the times from here on are unrelated to those before. The publisher's times jumped, whether the
    // stream corrected that or not.
    bool discontinuity : 1 = false;
    // Audio: what the publisher's format says of it besides the codec, in that format's own bits, so that it can be
    // written as it came (protocol/flv/audio_format.h). 0: nothing.
    uint8_t publisher_format = 0;
    // The index among the tracks of its kind; 0: the first, for consumers that support only one. Less than kMaxTracks.
    uint8_t track = 0;
    // Decoding time on the stream's timeline (on the publisher's before Stream::publish corrected it), and presentation
    // minus decoding time.
    Time dts{};
    Time cts{};
    // Video: AVC and HEVC as published, in length-prefixed NAL units; others in the codec's own framing. AAC: raw,
    // without ADTS. Data: in the publisher's format (protocol/flv/body.h).
    base::Slice payload;

    Time pts() const { return dts + cts; }
};

}  // namespace media
