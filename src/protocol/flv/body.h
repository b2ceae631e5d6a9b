#pragma once
// Parses the bodies of FLV tags, which are RTMP message payloads too, into frames: VIDEODATA and AUDIODATA (Adobe Flash
// Video File Format 10.1, E.4.2 and E.4.3), HEVC by the unofficial codec id 12, Enhanced RTMP v1 and v2 (Veovera:
// ExVideoTagHeader, ExAudioTagHeader, ModEx, multitrack), and data messages in AMF0. Payloads are sub-slices: nothing
// is copied. Access units are parsed no further than their length prefixes.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/slice.h"
#include "media/frame.h"
#include "media/sample_clock.h"
#include "protocol/flv/timestamps.h"

namespace flv {

// A parsed body: a frame, or the reason why there is nothing to publish (a static text). A sequence header is not
// marked as keyframe.
struct Parsed {
    std::optional<media::Frame> frame;
    std::string_view nothing;
    uint32_t dropped_tracks = 0;  // other tracks in this body
};

// One per publisher. Keeps the state that a single body lacks: the NAL unit length size, which track is used (the first
// one seen; track 0 always takes precedence), and where the timestamps are: they do not wrap in a frame, and audio
// times that are rounded to ms are made exact by the number of samples.
class BodyParser {
  public:
    // timestamp: of the message or tag. An error means that the body is not valid FLV; it names
    // what is wrong. The frame shares the body's buffer.
    base::Result<Parsed> video(const base::Slice& body, uint32_t timestamp);
    base::Result<Parsed> audio(const base::Slice& body, uint32_t timestamp);
    // amf3: an RTMP message of type 15, whose body has a leading 0. The values are checked. The payload is in AMF0 and
    // begins with the name: "@setDataFrame" is removed. onMetaData is marked as sequence header.
    base::Result<Parsed> data(const base::Slice& body, uint32_t timestamp, bool amf3 = false);
    // Selects the parser by a tag's or message's type id: 8, 9, 18 or 15. Other types: nothing.
    base::Result<Parsed> parse(uint8_t type, const base::Slice& body, uint32_t timestamp);

    uint64_t dropped_tracks() const { return dropped_tracks_; }

  private:
    struct Cursor;
    base::Result<Parsed> enhanced_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> enhanced_audio(Cursor& c, media::Frame& frame);
    base::Result<Parsed> legacy_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> coded_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> sequence_header(Cursor& c, media::Frame& frame);
    base::Result<Parsed> legacy_audio(Cursor& c, media::Frame& frame);
    base::Result<void> skip_modifiers(Cursor& c, uint8_t mod_ex);
    base::Result<bool> select_track(Cursor& c, media::Kind kind, bool multitrack);
    bool serves(media::Kind kind, int track);
    void set_time(media::Frame& frame, uint32_t timestamp);
    media::Time audio_duration(const media::Frame& frame);
    void note_audio(const media::Frame& frame);

    media::Codec video_codec_ = media::Codec::kNone;  // of the last sequence header
    int nalu_length_size_ = 0;                        // 0: no sequence header yet
    int served_track_[2] = {-1, -1};                  // video, audio
    uint64_t dropped_tracks_ = 0;
    Timestamps timestamps_;
    media::SampleClock audio_clock_;
    media::Codec audio_codec_ = media::Codec::kNone;  // of the last frame
    int audio_rate_ = 0;                              // Hz; 0: not known
    media::Time aac_duration_{};                      // of each frame; 0: not known
};

}  // namespace flv
