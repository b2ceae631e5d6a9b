#include "convert/ts/to_ts.h"

#include <algorithm>

namespace convert {
namespace {

// A receiver that joins, or a recording that is cut, in the middle of a long GOP finds the tables within this time.
constexpr media::Time kTablesEvery = std::chrono::seconds(2);

}  // namespace

TsEncoder::TsEncoder() : muxer_({.tables_at_keyframes = true, .tables_every = kTablesEvery}) {}

void TsEncoder::set_tracks(const media::TrackSet& tracks) {
    muxer_.set_tracks(tracks.tracks);
    video_left_out_ = tracks.count(media::Kind::kVideo) > 0 && !muxer_.has_video();
}

bool TsEncoder::carries(media::Kind kind) const {
    return kind == media::Kind::kAudio || (kind == media::Kind::kVideo && !video_left_out_);
}

uint8_t TsEncoder::first_track(media::Kind kind) const {
    const ts::Program& program = muxer_.program();
    const auto& tracks = kind == media::Kind::kVideo ? program.video : program.audio;
    const auto first = std::ranges::find_if(tracks, [](auto& track) { return track.codec != media::Codec::kNone; });
    return first == tracks.end() ? 0 : static_cast<uint8_t>(first - tracks.begin());
}

// The bits from the lowest one: version, 5; both counters, 4 each; has_tables, 1; low_rate_mp3, 8.
uint32_t TsEncoder::save_start_state() const {
    const ts::Muxer::StartPoint point = muxer_.start_point();
    return point.version | uint32_t{point.pat_cc} << 5 | uint32_t{point.pmt_cc} << 9 |
           uint32_t{point.has_tables} << 13 | uint32_t{point.low_rate_mp3} << 14;
}

void TsEncoder::encode_prefix(const media::TrackSet& tracks, media::Time, bool, base::SliceBuilder& out) {
    ts::Muxer::StartPoint point;
    point.version = recalled_ & 31;
    point.pat_cc = recalled_ >> 5 & 15;
    point.pmt_cc = recalled_ >> 9 & 15;
    point.has_tables = recalled_ >> 13 & 1;
    point.low_rate_mp3 = static_cast<uint8_t>(recalled_ >> 14);
    if (point.has_tables) return;
    uint8_t tables[ts::kMaxTablesSize];
    out.append({tables, ts::Muxer::put_tables_at(tracks.tracks, point, tables)});
}

}  // namespace convert
