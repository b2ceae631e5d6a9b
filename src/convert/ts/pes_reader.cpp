#include "convert/ts/pes_reader.h"

#include <utility>

namespace convert {

using media::Frame;
using media::Kind;

template <class Step>
void PesReader::collect(int64_t now_us, std::vector<Frame>& out, Step&& step) {
    now_us_ = now_us;
    out_ = &out;
    step();
    out_ = nullptr;
}

void PesReader::feed(std::span<const uint8_t> bytes, int64_t now_us, std::vector<Frame>& out) {
    collect(now_us, out, [&] { feed_demuxer(bytes); });
}

void PesReader::on_gap(int64_t now_us, std::vector<Frame>& out) {
    collect(now_us, out, [&] { gap_demuxer(); });
}

void PesReader::end_unit(int64_t now_us, std::vector<Frame>& out) {
    if (end_unit_of_demuxer()) collect(now_us, out, [&] { reader_.finish(); });
}

void PesReader::finish(int64_t now_us, std::vector<Frame>& out) {
    collect(now_us, out, [&] {
        finish_demuxer();
        reader_.finish();
    });
}

void PesReader::drop_unfinished() {
    std::vector<Frame> dropped;
    collect(now_us_, dropped, [&] { drop_demuxer(); });
    reader_.drop_unfinished();
}

// A sequence header comes right before the frame that has its time.
void PesReader::take(Frame frame) {
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

bool PesReader::is_wanted(Track& track, const Frame& frame) const {
    if (!track.has_header && media::codec_info(frame.codec).has_sequence_header) return false;
    if (frame.kind != Kind::kVideo || track.has_keyframe) return true;
    track.has_keyframe = frame.keyframe;
    return frame.keyframe;
}

std::vector<media::TrackName> PesReader::track_names() const {
    std::vector<media::TrackName> names;
    for (const ts::ElementaryStream& stream : program().streams)
        if (stream.language != media::Language{})
            names.push_back({stream.kind(), stream.track, media::to_string(stream.language), {}});
    return names;
}

PesReaderCounters PesReader::counters() const {
    PesReaderCounters counters;
    counters.frames = frames_;
    counters.skipped_frames = skipped_frames_;
    counters.damaged = reader_.damaged();
    counters.unreadable = reader_.unreadable();
    counters.jumps = clock_.jumps();
    counters.packets = demuxer_counters();
    return counters;
}

}  // namespace convert
