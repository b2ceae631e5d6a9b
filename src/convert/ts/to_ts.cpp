#include "convert/ts/to_ts.h"

namespace convert {
namespace {

// A receiver that joins, or a recording that is cut, in the middle of a long GOP finds the tables within this time.
constexpr media::Time kTablesEvery = std::chrono::seconds(2);

ts::Headers headers_of(const media::TrackSet& tracks) {
    return {tracks.config(media::Kind::kVideo), tracks.config(media::Kind::kAudio), tracks.codec(media::Kind::kAudio)};
}

}  // namespace

TsEncoder::TsEncoder() : muxer_({.tables_at_keyframes = true, .tables_every = kTablesEvery}) {}

void TsEncoder::set_tracks(const media::TrackSet& tracks) {
    muxer_.set_headers(headers_of(tracks));
    video_left_out_ = tracks.video() && muxer_.program().video == media::Codec::kNone;
}

bool TsEncoder::carries(media::Kind kind) const {
    return kind == media::Kind::kAudio || (kind == media::Kind::kVideo && !video_left_out_);
}

uint32_t TsEncoder::remember_place() const {
    ts::Muxer::StartPoint point = muxer_.start_point();
    return point.version | uint32_t{point.cc} << 8 | uint32_t{point.has_tables} << 16 |
           uint32_t{point.low_rate_mp3} << 17;
}

void TsEncoder::encode_prefix(const media::TrackSet& tracks, media::Time, bool, base::SliceBuilder& out) {
    ts::Muxer::StartPoint point{static_cast<uint8_t>(recalled_), static_cast<uint8_t>(recalled_ >> 8),
                                (recalled_ >> 16 & 1) != 0, (recalled_ >> 17 & 1) != 0};
    if (!point.has_tables) ts::Muxer::put_tables_at(headers_of(tracks), point, out.extend(ts::kTablesSize));
}

}  // namespace convert
