#pragma once
// For tests of Segmenter: a stream that is fed to it, and the segments that it makes.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/segments/segmenter.h"

namespace convert {

class SegmenterTest : public ::testing::Test, public SegmentSink {
  protected:
    using Codec = media::Codec;
    using Frame = media::Frame;
    using Kind = media::Kind;
    using Durations = std::vector<int64_t>;
    using Flags = std::vector<bool>;
    struct Written {
        int64_t wall_ms = 0, date_ms = 0;
        bool discontinuity = false;
        bool changed = false;
        bool gap = false;
        bool has_video = false, has_audio = false;
        std::vector<Frame> frames;
        std::vector<Part> parts;
        std::optional<Closing> closing;

        bool begins_with_keyframe() const {
            for (const Frame& frame : frames)
                if (frame.kind == Kind::kVideo) return frame.keyframe;
            return true;
        }
    };

    static Frame make(Kind kind, Codec codec, int64_t dts) {
        Frame frame;
        frame.kind = kind;
        frame.codec = codec;
        frame.dts = media::from_ms(dts);
        return frame;
    }

    void use(const CutOptions& options) { segmenter_ = std::make_unique<Segmenter>(options, *this); }
    void use(int64_t fragment_ms) { use({.fragment_ms = fragment_ms}); }

    void open_segment(const Opening& opening) override {
        ASSERT_FALSE(open_);
        open_ = true;
        segments_.push_back({opening.wall_ms,
                             opening.date_ms,
                             opening.discontinuity,
                             opening.tracks_changed,
                             false,
                             opening.tracks.video() != nullptr,
                             opening.tracks.audio() != nullptr,
                             {},
                             {},
                             {}});
    }
    void open_gap(media::Time start) override {
        ASSERT_FALSE(open_);
        ASSERT_FALSE(segments_.empty());
        const Part& last = segments_.back().parts.back();
        EXPECT_EQ(start, last.start + last.duration);
        open_ = true;
        segments_.emplace_back();
        segments_.back().gap = true;
    }
    void write_frame(const Frame& frame) override {
        ASSERT_TRUE(open_);
        segments_.back().frames.push_back(frame);
        if (lose_at_ && media::to_ms(frame.dts) >= *lose_at_) {
            lose_at_.reset();
            open_ = false;
            segments_.pop_back();
            segmenter_->lost();
        }
    }
    void end_part(const PartEnd& end) override {
        ASSERT_TRUE(open_);
        segments_.back().parts.push_back(end.part);
    }
    void close_segment(const Closing& closing) override {
        ASSERT_TRUE(open_);
        open_ = false;
        segments_.back().closing = closing;
    }

    void feed(Frame frame) {
        frame.payload = base::Slice::copy(std::to_string(fed_.size()));
        frame.discontinuity = std::exchange(discontinuity_, false);
        update(frame);
        fed_.push_back(frame);
        segmenter_->feed(frame, at(media::to_ms(frame.dts)));
    }
    // The monotonic clock does not follow a publisher's times back.
    Arrival at(int64_t ms) {
        latest_ms_ = std::max(latest_ms_, monotonic_ms_ + ms);
        return {latest_ms_, wall_ms_ + ms};
    }
    // As the stream does, here and below.
    void begin() {
        const uint32_t revision = tracks_->revision;
        tracks_ = base::make_ref<media::TrackSet>();
        tracks_->revision = revision;
        segmenter_->begin();
    }
    void update(const Frame& frame) {
        if (!tracks_->changes_state(frame)) return;
        tracks_ = base::make_ref<media::TrackSet>(*tracks_);
        tracks_->update(frame);
        segmenter_->set_tracks(tracks_);
    }
    void header(Kind kind, std::string_view payload = "header") {
        Frame frame = make(kind, kind == Kind::kVideo ? Codec::kH264 : Codec::kAac, 0);
        frame.sequence_header = true;
        frame.payload = base::Slice::copy(payload);
        update(frame);
    }
    void video(int64_t dts, bool keyframe) {
        Frame frame = make(Kind::kVideo, Codec::kH264, dts);
        frame.keyframe = keyframe;
        feed(frame);
    }
    void audio(int64_t dts) { feed(make(Kind::kAudio, Codec::kAac, dts)); }
    void headers() {
        header(Kind::kVideo);
        header(Kind::kAudio);
    }
    // Video at 25 frames per second from `from` to before `to`, a keyframe every gop_ms; optionally with audio in
    // between.
    void flow(int64_t from, int64_t to, int64_t gop_ms, bool with_audio = true) {
        for (int64_t dts = from; dts < to; dts += 40) {
            video(dts, (dts - from) % gop_ms == 0);
            if (with_audio) audio(dts + 7), audio(dts + 28);
        }
    }
    void audio_flow(int64_t from, int64_t to) {
        for (int64_t dts = from; dts < to; dts += 20) audio(dts);
    }
    // By the clock, from the newest frame's arrival to that time, without frames.
    void pause(int64_t to) {
        for (int64_t ms = latest_ms_; ms <= monotonic_ms_ + to; ms += 5)
            if (ms >= segmenter_->gap_due_ms()) segmenter_->tick(ms);
        latest_ms_ = monotonic_ms_ + to;
    }
    // A frame of that time which comes at that time of the clock, and so on until `end`.
    void flow_late(int64_t dts, int64_t at_ms, int64_t end) {
        monotonic_ms_ += at_ms - dts;
        flow(dts, end, 2'000, false);
    }
    std::vector<bool> gaps(size_t segment) const {
        std::vector<bool> out;
        for (const Part& part : segments_[segment].parts) out.push_back(part.gap);
        return out;
    }
    std::vector<int64_t> durations() const {
        std::vector<int64_t> out;
        for (const Written& segment : segments_)
            out.push_back(segment.closing ? media::to_ms(segment.closing->duration) : -1);
        return out;
    }
    std::vector<bool> discontinuities() const {
        std::vector<bool> out;
        for (const Written& segment : segments_) out.push_back(segment.discontinuity);
        return out;
    }
    // Those of a segment follow each other, and are together as long as it.
    std::vector<int64_t> parts(size_t segment) const {
        std::vector<int64_t> out;
        media::Time end = segments_[segment].frames.front().dts;
        for (const Part& part : segments_[segment].parts) {
            EXPECT_EQ(part.start, end);
            EXPECT_LE(part.duration, segmenter_->part_target());
            end = part.start + part.duration;
            out.push_back(media::to_ms(part.duration));
        }
        EXPECT_EQ(end - segments_[segment].frames.front().dts, segments_[segment].closing->duration);
        return out;
    }
    // Every frame that was fed is in exactly one segment, in its track's order.
    void expect_all() const {
        for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
            std::vector<std::string> want, got;
            for (const Frame& frame : fed_)
                if (frame.kind == kind) want.emplace_back(frame.payload.text());
            for (const Written& segment : segments_)
                for (const Frame& frame : segment.frames)
                    if (frame.kind == kind) got.emplace_back(frame.payload.text());
            EXPECT_EQ(want, got);
        }
    }
    void expect_keyframes() const {
        for (size_t i = 0; i < segments_.size(); ++i) {
            EXPECT_TRUE(segments_[i].begins_with_keyframe()) << "segment " << i;
            ASSERT_TRUE(segments_[i].closing) << "segment " << i;
        }
    }

    std::unique_ptr<Segmenter> segmenter_;
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();
    std::vector<Written> segments_;
    std::vector<Frame> fed_;
    bool open_ = false;
    bool discontinuity_ = false;  // of the next frame
    std::optional<int64_t> lose_at_;
    int64_t monotonic_ms_ = 1'000'000;
    int64_t latest_ms_ = 0;
    int64_t wall_ms_ = 1'700'000'000'000;
};

}  // namespace convert
