// What an output makes of frames that come before it is known what an earlier run has left.

#include "service/hls/output.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "runtime/loop/testing.h"

namespace service::hls {
namespace {

using Strings = std::vector<std::string>;

media::Frame aac(int64_t dts_ms, std::string_view payload, bool is_header = false) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kAac;
    frame.dts = media::from_ms(dts_ms);
    frame.sequence_header = is_header;
    frame.payload = base::Slice::copy(base::hex(payload));
    return frame;
}

class OutputTest : public testing::Test, private live::EventListener {
  protected:
    void SetUp() override {
        runtime::testing::start_loop_once();
        live::EventListener& listener = *this;
        events_.subscribe(listener);
        stream_ = registry_.find_or_create({"v", "live", "s"}, {});
        publication_ = std::move(*stream_->acquire(owner_, false));
    }
    void TearDown() override {
        publication_.end();
        stream_.reset();
        registry_.stop();
    }
    std::unique_ptr<Output> make(size_t memory_limit = 64 << 20, bool low_latency = false, bool follows = true) {
        OutputOptions options{.key = {"v", "live", "s"}, .hls = {}, .memory_limit = memory_limit};
        options.hls.enabled = true;
        options.hls.storage = "memory";
        options.hls.fragment = options.hls.aof_ratio = 1;
        options.hls.low_latency = options.hls.use_fmp4 = low_latency;
        options.hls.part_ms = 300;
        auto output = std::make_unique<Output>(options, *SegmentPaths::make(options.hls, options.key, true), resources_,
                                               events_, log_limit_, [](const live::StreamKey&, const std::string&) {});
        if (follows) output->follow(*stream_, nullptr);
        return output;
    }
    void on_output_failed(const live::OutputFailed&) override { ++failures_; }
    // So many seconds, ten frames in each.
    void publish(int seconds) {
        for (const int64_t end = dts_ + seconds * 1'000; dts_ < end; dts_ += 100)
            publication_.publish(aac(dts_, "2122"));
    }
    static Strings segments(const Output& output) {
        Strings out;
        if (const auto view = output.view())
            for (const auto& one : view->playlist().segments)
                out.push_back(std::to_string(one.duration_us) + (one.discontinuity ? " ! " : " ") + one.uri);
        return out;
    }

    live::Registry registry_;
    live::testing::Owner owner_;
    base::Ref<live::Stream> stream_;
    live::Publication publication_;
    live::Events events_;
    runtime::LogLimit log_limit_;
    net::Resources resources_;
    int64_t dts_ = 0;
    size_t failures_ = 0;
};

TEST_F(OutputTest, FramesWaitForWhatAnEarlierRunHasLeft) {
    const auto early = make(), late = make();
    early->begin();
    publication_.publish(aac(0, "1210", true));
    publish(3);
    publication_.publish(aac(dts_, "1190", true));
    publish(3);
    EXPECT_EQ(segments(*late), Strings{});
    EXPECT_GT(late->memory(), 60 * sizeof(media::Frame));
    LeftStream left{.any = true,
                    .timeline = {.media_sequence = 7, .segments = {{.duration = std::chrono::seconds(1)}}}};
    left.renditions.push_back({.media_sequence = 7, .entries = {{.path = "live/s-7.ts", .disk = Entry::Disk::kThere}}});
    late->begin(std::move(left));
    publication_.end();
    EXPECT_EQ(segments(*early), (Strings{"1000000 s-0.ts", "1000000 s-1.ts", "1000000 s-2.ts", "1000000 ! s-3.ts",
                                         "1000000 s-4.ts", "1000000 s-5.ts"}));
    EXPECT_EQ(segments(*late), (Strings{"1000000 s-7.ts", "1000000 ! s-8.ts", "1000000 s-9.ts", "1000000 s-10.ts",
                                        "1000000 ! s-11.ts", "1000000 s-12.ts", "1000000 s-13.ts"}));
}

// Another process of the server had segments 7 and, so far, 8.
class ContinuedOutputTest : public OutputTest {
  protected:
    static media::Frame video(int64_t dts_ms, bool keyframe, std::string_view payload = "000000026588") {
        media::Frame frame;
        frame.kind = media::Kind::kVideo;
        frame.codec = media::Codec::kH264;
        frame.dts = media::from_ms(dts_ms);
        frame.keyframe = keyframe;
        frame.payload = base::Slice::copy(base::hex(payload));
        return frame;
    }
    static LeftStream left_at(int64_t start_ms, bool at_keyframe = true) {
        LeftStream left{.any = true, .timeline = {.media_sequence = 7}};
        left.timeline.segments = {{.duration = media::from_ms(1'000)}};
        left.timeline.continuation =
            convert::Continuation{.start = media::from_ms(start_ms), .at_keyframe = at_keyframe};
        left.renditions.push_back(
            {.media_sequence = 7, .entries = {{.path = "live/s-7.ts", .disk = Entry::Disk::kThere}}});
        return left;
    }
    void publish_video(int64_t from_ms, int64_t to_ms) {
        media::Frame header = video(from_ms, true, "01640015ffe1000667640015acd901000468ee3cb0");
        header.sequence_header = true;
        header.keyframe = false;
        publication_.publish(header);
        publication_.publish(aac(from_ms, "1210", true));
        for (int64_t dts = from_ms; dts < to_ms; dts += 100) {
            publication_.publish(video(dts, (dts - from_ms) % 1'000 == 0));
            publication_.publish(aac(dts + 1, "2122"));
        }
    }
};

TEST_F(ContinuedOutputTest, GoesOnWithItsKeyframe) {
    const auto output = make();
    output->begin(left_at(3'000));
    EXPECT_TRUE(output->is_behind());
    EXPECT_TRUE(output->has_view()) << "what the other process had can be played";
    publish_video(3'000, 5'000);
    EXPECT_FALSE(output->is_behind());
    publication_.end();
    EXPECT_EQ(segments(*output), (Strings{"1000000 s-7.ts", "1000000 s-8.ts", "1000000 s-9.ts"}));
}

TEST_F(ContinuedOutputTest, AnotherKeyframeIsBehindADiscontinuity) {
    const auto output = make();
    output->begin(left_at(3'000));
    publish_video(4'000, 6'000);
    EXPECT_FALSE(output->is_behind());
    publication_.end();
    EXPECT_EQ(segments(*output), (Strings{"1000000 s-7.ts", "1000000 ! s-8.ts", "1000000 s-9.ts"}));
}

TEST_F(ContinuedOutputTest, WithoutVideoItGoesOnWithAnyFrame) {
    const auto output = make();
    output->begin(left_at(3'000, false));
    publication_.publish(aac(2'500, "1210", true));
    for (dts_ = 2'500; dts_ < 5'000; dts_ += 100) publication_.publish(aac(dts_, "2122"));
    EXPECT_FALSE(output->is_behind());
    publication_.end();
    EXPECT_EQ(segments(*output), (Strings{"1000000 s-7.ts", "1000000 s-8.ts", "1000000 s-9.ts"}))
        << "frames before that are the other process's";
}

TEST_F(ContinuedOutputTest, AStreamThatHasOtherTracksIsBehindADiscontinuity) {
    const auto output = make();
    output->begin(left_at(3'000, false));
    publish_video(3'000, 4'000);
    publication_.end();
    EXPECT_EQ(segments(*output), (Strings{"1000000 s-7.ts", "1000000 ! s-8.ts"}));
}

// As one process leaves it and another one takes it over.
TEST_F(ContinuedOutputTest, WhatItLeavesGoesOn) {
    const auto before = make(64 << 20, true);
    before->begin();
    publish_video(0, 2'500);
    before->seek_keyframe(true);
    for (int64_t dts = 2'500; dts <= 3'300; dts += 100) {
        publication_.publish(video(dts, dts == 3'000));
        publication_.publish(aac(dts + 1, "2122"));
    }
    EXPECT_TRUE(before->is_at_keyframe());
    before->give_over();
    LeftStream left = before->leave(1 << 20);
    ASSERT_TRUE(left.timeline.continuation);
    EXPECT_EQ(left.timeline.continuation->start, media::from_ms(3'000));
    const uint64_t parts_end = left.timeline.continuation->parts_end;
    EXPECT_GT(parts_end, left.timeline.continuation->first_part) << "some of the open segment are known";
    const Strings known = segments(*before);
    const std::string last_part = before->view()->playlist().segments.back().parts.back().uri;

    const auto after = make(64 << 20, true, false);
    after->begin(std::move(left));
    EXPECT_EQ(segments(*after), known);
    EXPECT_EQ(after->view()->playlist().segments.back().parts.back().uri, last_part);
    ASSERT_NE(resources_.find("v", "live/" + last_part), nullptr) << last_part;
    EXPECT_TRUE(after->is_behind());
    publication_.publish(video(4'000, true));
    publication_.publish(aac(4'001, "2122"));
    after->follow(*stream_, nullptr);
    EXPECT_FALSE(after->is_behind()) << "the GOP is held";
    EXPECT_EQ(segments(*after).size(), known.size() + 1);
    EXPECT_EQ(segments(*after).back().find('!'), std::string::npos) << segments(*after).back();
}

TEST_F(OutputTest, APublisherMayHaveLeftMeanwhile) {
    const auto output = make();
    publication_.publish(aac(0, "1210", true));
    publish(2);
    publication_.end();
    output->begin();
    EXPECT_EQ(segments(*output), (Strings{"1000000 s-0.ts", "1000000 s-1.ts"}));
}

// Its parts were listed: it is a gap, and players are told which part comes next.
TEST_F(OutputTest, AnOpenSegmentThatIsLostIsAGapWithoutAPause) {
    const auto output = make(64 << 20, true);
    output->begin();
    publication_.publish(aac(0, "1210", true));
    publish(2);
    for (int i = 0; i < 7; ++i, dts_ += 100) publication_.publish(aac(dts_, "2122"));
    const auto text = [&] { return *output->view()->body({}).text; };
    const auto hint = [&] { return text().substr(text().find("#EXT-X-PRELOAD-HINT")); };
    ASSERT_NE(text().find("#EXT-X-PRELOAD-HINT"), std::string::npos) << text();
    const std::string before = hint();
    const size_t listed = segments(*output).size();
    media::Frame other = aac(dts_, "2122");
    other.codec = media::Codec::kOpus;  // not that of its track
    output->on_frame(other);
    EXPECT_EQ(failures_, 1u);
    EXPECT_EQ(segments(*output).size(), listed + 1);
    EXPECT_TRUE(output->view()->playlist().segments.back().gap);
    ASSERT_NE(text().find("#EXT-X-PRELOAD-HINT"), std::string::npos) << text();
    EXPECT_EQ(hint(), before) << "parts are numbered on";
    dts_ += 100;
    publish(2);
    EXPECT_FALSE(output->view()->playlist().segments.back().gap);
}

TEST_F(OutputTest, TheNewestSegmentIsReleasedOnceTheStreamHasEnded) {
    const auto output = make();
    publication_.publish(aac(0, "1210", true));
    output->begin();
    const std::string large(4 * 1024, '0');
    for (int i = 0; i < 50; ++i, dts_ += 100) publication_.publish(aac(dts_, large));
    for (int i = 0; i < 3; ++i) output->release_memory();
    const size_t kept = output->memory();
    EXPECT_FALSE(segments(*output).empty()) << "the newest one stays while the stream is published";
    publication_.end();
    output->release_memory();
    EXPECT_LE(output->memory(), kept) << "without the segment that was open";
}

TEST_F(OutputTest, WhatWaitsIsBounded) {
    const auto output = make(64 * 1024);
    publication_.publish(aac(0, "1210", true));
    const std::string large(2 * 1024, '0');
    for (int i = 0; i < 100; ++i, dts_ += 100) publication_.publish(aac(dts_, large));
    EXPECT_LT(output->memory(), 64 * 1024u);
    EXPECT_GT(failures_, 0u);
    output->begin();
    publish(2);
    publication_.end();
    EXPECT_GE(segments(*output).size(), 2u) << "the tracks are those of the last frames";
}

}  // namespace
}  // namespace service::hls
