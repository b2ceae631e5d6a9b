// Output in an upgrade: what it leaves to another process of the server, and how it goes on from there.
//
// The process before leaves the segments that are complete, and the frame with which the open one began: a keyframe, or
// in a stream without video any frame. The new process gets the stream from that frame on (live::Stream::hold_gop()),
// makes the segment anew, under the same number and with parts of the same numbers, and nothing else changes. Requests
// that wait in the process before are answered there: it goes on in memory alone as long as somebody waits.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/loop/clock.h"
#include "service/hls/output.h"

namespace service::hls {

namespace {

// Of the numbers of parts that the process before has given since: it may have gone on for those who wait.
constexpr uint64_t kPartsSince = 100;
// Times of RTMP are whole milliseconds.
constexpr media::Time kRounded = std::chrono::milliseconds(1);

}  // namespace

// ---- To another process

void Output::seek_keyframe(bool on) {
    const bool has_begun = on && stream_ && has_begun_ && !off_;
    if (has_begun && !tracks_->video()) {
        feed_waiting();
        stream_->hold_gop(runtime::now_ms() + kSeekMs + kHeldMs);
        segmenter_.end_at_next_audio();
        keyframe_dts_ = media::kNoTime;
    }
    // It is not left to another process: new players begin as ever.
    if (!on && seeks_keyframe_ && stream_ && !tracks_->video()) stream_->hold_gop(0);
    seeks_keyframe_ = on;
}

// Segments of a group end together.
bool Output::is_at_keyframe() const {
    if (!stream_ || !has_begun_ || off_ || variant_ || tracks_->empty()) return true;
    const Segment* open = timeline_->open_segment();
    return open && !open->gap && open->start == keyframe_dts_;
}

void Output::give_over() {
    seeks_keyframe_ = false;
    is_given_over_ = true;
    continuation_.reset();
    // What is complete is reported here, also what the disk has not taken yet.
    given_end_ = std::numeric_limits<SegmentTimeline::Id>::max();
    if (!stream_ || !has_begun_) {
        if (stream_) on_unpublish();
        given_end_ = timeline_->end();
        return;
    }
    feed_waiting();
    const Segment* open = timeline_->open_segment();
    if (off_ || variant_ || !open || open->gap || open->start != keyframe_dts_) {
        on_unpublish();
        segmenter_.end_gaps();
        given_end_ = timeline_->end();
        return;
    }
    stream_->hold_gop(runtime::now_ms() + kLeavesMs + kHeldMs);
    for_each_rendition([](Rendition& rendition) { rendition.give_over(); });
    continuation_ = {.start = open->start,
                     .at_keyframe = tracks_->video() != nullptr,
                     .clock = open->clock,
                     .first_part = open->first_part,
                     .parts_end = timeline_->next_part(),
                     .breaks = open->discontinuity};
    given_end_ = timeline_->end();
}

void Output::hold_gop() {
    if (stream_ && continuation_) stream_->hold_gop(runtime::now_ms() + kHeldMs);
}

void Output::release_gop() {
    if (stream_ && continuation_) stream_->hold_gop(0);
}

LeftStream Output::leave(uint64_t max_bytes) {
    LeftStream left;
    if (has_begun_) {
        LeftBlobs blobs(max_bytes);
        left.any = true;
        left.timeline = timeline_->left_before(given_end_);
        left.timeline.continuation = continuation_;
        left.master = on_disk() && has_audio_group();
        const SegmentTimeline::Id first = given_end_ - left.timeline.segments.size();
        for (RenditionId id = kMainRendition; id < kRenditions; ++id) {
            Rendition* rendition = renditions_.find(RenditionId{id});
            if (!rendition) continue;
            left.renditions.push_back(rendition->leave(first, given_end_, blobs));
            left.renditions.back().id = id;
        }
        if (dash_) left.dash = dash_->leave(first, given_end_, blobs);
        left.blobs = blobs.all();
    }
    for_each_rendition([](Rendition& rendition) { rendition.leave_files(); });
    return left;
}

bool Output::is_awaited() const {
    bool is_awaited = dash_ && dash_->is_awaited();
    renditions_.for_each([&](Rendition& rendition) { is_awaited |= rendition.is_awaited(); });
    return stream_ && is_awaited;
}

// ---- From another one

// Frames before the one with which it goes on: the other process's segments have them.
bool Output::skips(const media::Frame& frame) {
    const convert::Continuation& to = *continuation_;
    const bool is_video = frame.kind == media::Kind::kVideo;
    if (continuation_since_ms_ == 0) continuation_since_ms_ = runtime::now_ms();
    if (runtime::now_ms() - continuation_since_ms_ >= kContinuesWithinMs) {
        end_continuation(false, "its frame has not come");
        return false;
    }
    const bool is_first = default_audio_.index_of(frame) == 0 && is_video == to.at_keyframe;
    if (!is_first && is_video == to.at_keyframe) return true;
    if (!is_first && !is_video) return true;
    if (!to.at_keyframe && !is_video && frame.dts < to.start - kRounded) return true;
    end_continuation(is_first && (frame.keyframe || !is_video) && media::distance(frame.dts, to.start) <= kRounded,
                     fmt::format("it begins with a {} at {} ms instead of {} ms", is_video ? "video frame" : "frame",
                                 media::to_ms(frame.dts), media::to_ms(to.start)));
    return false;
}

void Output::end_continuation(bool goes_on, std::string_view why) {
    const convert::Continuation to = *std::exchange(continuation_, std::nullopt);
    if (!goes_on)
        runtime::warn_some(failure_log_, "HLS of {} goes on from the process before behind a discontinuity: {}",
                           options_.key.text(), why);
    parts_end_ = goes_on ? to.parts_end : 0;
    releases_held_ = goes_on;
    if (!goes_on) timeline_->break_off(to.parts_end - std::min(to.parts_end, to.first_part) + kPartsSince);
}

}  // namespace service::hls
