#include "convert/ts/ts_reader.h"

#include <utility>

namespace convert {

using media::Frame;
using media::Kind;

TsReader::TsReader() = default;

void TsReader::feed(std::span<const uint8_t> bytes, int64_t now_us, std::vector<Frame>& out) {
    now_us_ = now_us;
    out_ = &out;
    demuxer_.feed(bytes);
    out_ = nullptr;
}

void TsReader::finish(int64_t now_us, std::vector<Frame>& out) {
    now_us_ = now_us;
    out_ = &out;
    demuxer_.finish();
    reader_.finish();
    out_ = nullptr;
}

void TsReader::drop_unfinished() {
    demuxer_.drop_unfinished();
    reader_.drop_unfinished();
}

// A sequence header comes right before the frame that has its time.
void TsReader::take(Frame frame) {
    Track& track = tracks_.at(frame.kind, frame.track);
    if (track.codec != frame.codec) track = {.codec = frame.codec};
    if (frame.sequence_header) {
        track.has_header = true;
        frame.dts = clock_.last();
        return out_->push_back(std::move(frame));
    }
    if (!is_wanted(track, frame)) return void(++skipped_frames_);
    const TsClock::Moment moment = clock_.at(frame.kind, frame.track, frame.dts, now_us_);
    frame.dts = moment.time;
    frame.discontinuity = moment.jumped;
    ++frames_;
    out_->push_back(std::move(frame));
}

bool TsReader::is_wanted(Track& track, const Frame& frame) const {
    if (!track.has_header && media::codec_info(frame.codec).has_sequence_header) return false;
    if (frame.kind != Kind::kVideo || track.has_keyframe) return true;
    track.has_keyframe = frame.keyframe;
    return frame.keyframe;
}

std::vector<media::TrackName> TsReader::track_names() const {
    std::vector<media::TrackName> names;
    for (const ts::ElementaryStream& stream : program().streams)
        if (stream.language != media::Language{})
            names.push_back({stream.kind(), stream.track, media::to_string(stream.language), {}});
    return names;
}

TsReaderCounters TsReader::counters() const {
    TsReaderCounters counters;
    counters.frames = frames_;
    counters.skipped_frames = skipped_frames_;
    counters.damaged = reader_.damaged();
    counters.unreadable = reader_.unreadable();
    counters.jumps = clock_.jumps();
    counters.packets = demuxer_.counters();
    return counters;
}

}  // namespace convert
