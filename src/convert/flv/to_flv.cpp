#include "convert/flv/to_flv.h"

#include <cstring>

#include "protocol/flv/metadata.h"
#include "protocol/flv/tag.h"

namespace convert {

namespace {

enum FlvFlags : uint32_t { kSaysAudio = 1, kSaysVideo = 2, kDrops = 4, kGuesses = 8, kAllTracks = 16 };

}  // namespace

uint32_t FlvOptions::bits() const {
    const uint32_t tracks = all_tracks ? kAllTracks : 0u;
    if (guess) return tracks | kGuesses;
    return tracks | (has_audio ? kSaysAudio : 0u) | (has_video ? kSaysVideo : 0u) | (drop_if_not_match ? kDrops : 0u);
}

FlvOptions FlvOptions::of(uint32_t bits) {
    FlvOptions options;
    options.all_tracks = (bits & kAllTracks) != 0;
    if (bits & kGuesses) return options;
    options.guess = false;
    options.has_audio = (bits & kSaysAudio) != 0;
    options.has_video = (bits & kSaysVideo) != 0;
    options.drop_if_not_match = (bits & kDrops) != 0;
    return options;
}

bool FlvEncoder::carries(media::Kind kind) const {
    if (kind == media::Kind::kAudio) return options_.carries_audio();
    if (kind == media::Kind::kVideo) return options_.carries_video();
    return true;
}

bool FlvEncoder::carries(const media::Frame& frame) const {
    return carries(frame.kind) && (frame.track == 0 || (options_.all_tracks && flv::can_write(frame)));
}

size_t FlvEncoder::encoded_size(const media::Frame& frame) {
    if (!carries(frame)) return 0;
    header_size_ = flv::put_body_header(frame, header_);
    const size_t body = header_size_ + frame.payload.size();
    return body > flv::kMaxBodySize ? 0 : flv::kTagHeaderSize + body + flv::kPreviousTagSize;
}

void FlvEncoder::encode(const media::Frame& frame, uint8_t* out) {
    const auto body_size = static_cast<uint32_t>(header_size_ + frame.payload.size());
    out = flv::put_tag_header(out, flv::tag_type(frame.kind), body_size, flv::timestamp(frame));
    std::memcpy(out, header_, header_size_);
    out += header_size_;
    if (!frame.payload.empty()) std::memcpy(out, frame.payload.data(), frame.payload.size());
    flv::put_previous_tag_size(out + frame.payload.size(), body_size);
}

void FlvEncoder::set_tracks(const media::TrackSet& tracks) {
    present_ = kinds_of(tracks);
    awaited_ = {};
    if (!tracks.metadata || (present_.audio && present_.video)) return;
    if (const auto metadata = flv::read_metadata(tracks.metadata->payload))
        awaited_ = {metadata->has_audio && !present_.audio, metadata->has_video && !present_.video};
}

void FlvEncoder::encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                               base::SliceBuilder& out) {
    if (first) {
        // A viewer is told of the tracks once: also of one that came behind the frame that it begins with.
        Kinds kinds{options_.has_audio, options_.has_video};
        if (options_.guess) kinds = kinds_of(tracks) | present_ | awaited_;
        flv::put_file_header(out.extend(flv::kFileHeaderSize), kinds.audio, kinds.video);
    }
    for (const media::Frame* header : tracks.headers()) {
        media::Frame frame = *header;
        frame.dts = start_dts;
        if (size_t size = encoded_size(frame)) encode(frame, out.extend(size));
    }
}

}  // namespace convert
