#pragma once
// onMetaData (Adobe Flash Video File Format 10.1, E.5; Enhanced RTMP's FourCC ids): reads the members that the server
// uses, and writes one where a publisher sent none. A publisher's onMetaData is forwarded unchanged, byte for byte.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/frame.h"
#include "media/track.h"
#include "media/track_set.h"

namespace flv {

inline constexpr std::string_view kOnMetaData = "onMetaData";

// 0, empty or nothing where the publisher did not give a value.
struct Metadata {
    int width = 0;  // pixels
    int height = 0;
    double framerate = 0;
    double duration = 0;         // seconds
    double video_data_rate = 0;  // kbit/s
    double audio_data_rate = 0;
    int audio_sample_rate = 0;  // Hz
    int audio_channels = 0;
    std::optional<media::Codec> video_codec;
    std::optional<media::Codec> audio_codec;
    bool has_video = false;  // declared by the publisher, or implied by a codec or a size
    bool has_audio = false;
    std::string encoder;
};

// Whether a frame is an onMetaData: BodyParser marks it.
inline bool is_metadata(const media::Frame& frame) { return frame.kind == media::Kind::kData && frame.sequence_header; }

// Whether it has the property by which an encoder says that its times are absolute: "bravo_atc".
bool says_absolute_times(const media::Frame& metadata);

// The languages and labels of its tracks, by Enhanced RTMP's audioTrackIdInfoMap and videoTrackIdInfoMap: the members
// "language" and "label" or "title" of each track. Empty: it names none.
std::vector<media::TrackName> track_names(const media::Frame& metadata);

// payload: of a data frame, starting with the name "onMetaData".
base::Result<Metadata> read_metadata(const base::Slice& payload);

// The payload of a data frame that describes the tracks; pass null for a track that does not exist.
base::Slice make_metadata(const media::VideoInfo* video, const media::AudioInfo* audio, std::string_view server);

}  // namespace flv
