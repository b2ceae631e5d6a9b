#pragma once
// Parses the bodies of FLV tags, which are RTMP message payloads too, into frames: VIDEODATA and AUDIODATA (Adobe Flash
// Video File Format 10.1, E.4.2 and E.4.3), HEVC by the unofficial codec id 12, Enhanced RTMP v1 and v2 (Veovera:
// ExVideoTagHeader, ExAudioTagHeader, ModEx, multitrack), and data messages in AMF0. Payloads are sub-slices: nothing
// is copied. Access units of H.264 and HEVC are parsed no further than media/access_unit.h does: their NAL units decide
// what is a keyframe, a recovery point is one.

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/frame.h"
#include "media/per_track.h"
#include "media/recovery_point.h"
#include "media/sample_clock.h"
#include "protocol/flv/timestamps.h"

namespace flv {

// The code of an error that says that a codec is not known. Other errors: the body is not valid FLV.
inline constexpr base::Code kUnknownCodec = base::Code::kNotFound;

// A parsed body: its frames, or the reason why there is nothing to publish (a static text). A sequence header is not
// marked as keyframe.
struct Parsed {
    std::optional<media::Frame> frame;
    std::string_view nothing;
    std::vector<media::Frame> more{};  // behind it: of other tracks in this body
};

// One per publisher. Keeps the state that a single body lacks: the tracks with their NAL unit length size, and where
// the timestamps are: they do not wrap in a frame, and audio times that are rounded to ms are made exact by the number
// of samples.
//
// A track's id is its Frame::track; ids from media::kMaxTracks on are dropped. Where a publisher has no track 0, the
// first one seen stands in for it, until track 0 comes. Of a body with several tracks the part with a defect is dropped
// alone. After an error the next body is parsed as if the defective one had not come.
class BodyParser {
  public:
    // timestamp: of the message or tag. An error names what is wrong. An empty body is none: some servers send such to
    // say that there is no audio. The frames share the body's buffer.
    base::Result<Parsed> video(const base::Slice& body, uint32_t timestamp);
    base::Result<Parsed> audio(const base::Slice& body, uint32_t timestamp);
    // amf3: an RTMP message of type 15, whose body has a leading 0. The values are checked. The payload is in AMF0 and
    // begins with the name: "@setDataFrame" is removed. onMetaData is marked as sequence header.
    base::Result<Parsed> data(const base::Slice& body, uint32_t timestamp, bool amf3 = false);
    // Selects the parser by a tag's or message's type id: 8, 9, 18 or 15. Other types: nothing.
    base::Result<Parsed> parse(uint8_t type, const base::Slice& body, uint32_t timestamp);

    // How many tracks were dropped so far because of their ids.
    size_t dropped_tracks() const { return dropped_[0].count() + dropped_[1].count(); }

  private:
    struct Cursor;
    struct Track {
        media::Codec codec = media::Codec::kNone;  // of the last sequence header (video), of the last frame (audio)
        int nalu_length_size = 0;                  // 0: no sequence header yet
        media::RecoveryPoints recovery_points;     // of H.264 and HEVC
        media::SampleClock clock;                  // audio
        int sample_rate = 0;                       // Hz; 0: not known
        media::Time aac_duration{};                // of each frame; 0: not known
    };
    base::Result<Parsed> video_body(const base::Slice& body);
    base::Result<Parsed> audio_body(const base::Slice& body);
    base::Result<Parsed> enhanced(Cursor& c, media::Frame& frame);
    base::Result<Parsed> enhanced_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> enhanced_audio(Cursor& c, media::Frame& frame);
    base::Result<Parsed> legacy_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> coded_video(Cursor& c, media::Frame& frame);
    base::Result<Parsed> sequence_header(Cursor& c, media::Frame& frame);
    base::Result<Parsed> legacy_audio(Cursor& c, media::Frame& frame);
    base::Result<void> skip_modifiers(Cursor& c, uint8_t mod_ex);
    base::Result<Parsed> one_track(Cursor& c, media::Frame& frame, int id);
    base::Result<Parsed> each_track(Cursor& c, const media::Frame& frame);
    void finish(media::Kind kind, base::Result<Parsed>& parsed, uint32_t timestamp);
    static void put_first(std::vector<media::Frame>& moved, Parsed& parsed);
    std::optional<uint8_t> index_of(media::Kind kind, int id);
    void claim_track_zero(media::Kind kind) {
        if (!has_track_zero_[kind == media::Kind::kVideo ? 0 : 1]) [[unlikely]]
            (void)index_of(kind, 0);
    }
    Track& track_of(const media::Frame& frame);
    void set_time(media::Frame& frame, uint32_t timestamp);
    media::Time audio_duration(const media::Frame& frame);
    void update_audio(const media::Frame& frame);

    media::PerTrack<Track> tracks_;
    bool has_track_[2] = {false, false};       // by kind: a track has come
    bool has_track_zero_[2] = {false, false};  // track 0 has: none stands in for it from then on
    // The track that stands in for track 0, with its sequence header, to be told when it gets its own index.
    struct StandIn {
        int id = -1;
        std::optional<media::Frame> header{};
    };
    StandIn stand_in_[2];
    // By kind: sequence headers of tracks that have another index since the last valid body.
    std::array<std::vector<media::Frame>, 2> moved_;
    std::array<std::bitset<256>, 2> dropped_{};  // video, audio; by id
    Timestamps timestamps_;
};

}  // namespace flv
