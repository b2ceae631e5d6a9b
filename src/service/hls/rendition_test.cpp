// A rendition and what an earlier run has left of it, in real files.

#include "service/hls/rendition.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/hex_testing.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"

namespace service::hls {
namespace {

class RenditionTest : public testing::Test, public RenditionHost {
  protected:
    void SetUp() override {
        runtime::testing::start_loop_once();
        std::string name = std::filesystem::temp_directory_path() / "rendition_test.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override {
        main_.reset(), audio_.reset();
        ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
        std::filesystem::remove_all(root_);
    }

    // As a run of the server. recover: hls_recover.
    void begin_run(bool recover = true) {
        make_renditions(recover);
        read_files();
    }
    void make_renditions(bool recover) {
        const VhostConfig& hls = hls_;
        const SegmentPaths paths = *SegmentPaths::make(hls, {"v", "live", "s"}, true);
        SegmentFilesOptions options;
        options.vhost = "v";
        options.root = options.key_root = root_;
        options.recover = recover;
        timeline_ = std::make_shared<SegmentTimeline>(SegmentTimelineOptions{60'000, 1'000});
        RenditionHost& host = *this;
        main_ = std::make_unique<Rendition>(host, hls, paths, options, index_, timeline_);
        audio_ = std::make_unique<Rendition>(host, hls, paths.of_rendition(1), options, index_, timeline_);
    }
    // The other one's are read first.
    void read_files() {
        audio_->files()->recover();
        EXPECT_FALSE(audio_->view()) << "the numbers are not known yet";
        main_->files()->recover();
        const LeftFiles& left = *main_->left_over();
        if (left.any) timeline_->recover(left.timeline);
        main_->begin_naming();
        audio_->begin_naming();
    }
    void segment() {
        media::Frame frame;
        frame.kind = media::Kind::kAudio;
        frame.codec = media::Codec::kAac;
        frame.payload = base::Slice::copy(base::hex("1210"));
        frame.sequence_header = true;
        media::TrackSet tracks;
        tracks.update(frame);
        frame.sequence_header = false;
        for (Rendition* rendition : {main_.get(), audio_.get()}) {
            ASSERT_TRUE(rendition->open(tracks, frame, false));
            ASSERT_TRUE(rendition->add(frame));
        }
        const auto id = timeline_->add({.duration = std::chrono::seconds(1)}, runtime::now_ms());
        for (Rendition* rendition : {main_.get(), audio_.get()})
            ASSERT_TRUE(rendition->close({std::chrono::seconds(1), std::nullopt}, id));
    }
    void write_segment() {
        segment();
        wait();
    }
    void wait() const {
        for (int i = 0; i < 3'000 && !(main_->idle() && audio_->idle()); ++i) ASSERT_TRUE(runtime::sleep_ms(10));
    }
    static std::vector<std::string> uris(const Rendition& rendition) {
        std::vector<std::string> out;
        if (const auto view = rendition.view())
            for (const auto& item : view->playlist.segments) out.push_back((item.gap ? "!" : "") + item.uri);
        return out;
    }

    void segment_done(Rendition&, SegmentTimeline::Id, const std::string&) override {}
    void segment_failed(const std::string&, const base::Error& error) override { ADD_FAILURE() << error.text(); }
    void files_read(Rendition&) override {}

    VhostConfig hls_;
    std::string root_;
    Index index_;
    std::shared_ptr<SegmentTimeline> timeline_;
    std::unique_ptr<Rendition> main_, audio_;
};

using Uris = std::vector<std::string>;

TEST_F(RenditionTest, GoesOnBehindAnEarlierRun) {
    begin_run();
    write_segment();
    write_segment();
    begin_run();
    EXPECT_EQ(uris(*audio_), (Uris{"s-0~audio2.ts", "s-1~audio2.ts"}));
    write_segment();
    EXPECT_EQ(uris(*main_), (Uris{"s-0.ts", "s-1.ts", "s-2.ts"}));
    EXPECT_EQ(uris(*audio_), (Uris{"s-0~audio2.ts", "s-1~audio2.ts", "s-2~audio2.ts"}));
    EXPECT_TRUE(audio_->view()->playlist.segments[2].discontinuity);
}

TEST_F(RenditionTest, WhatIsThereBeforeItsNumberIsKnownWaits) {
    begin_run();
    write_segment();
    make_renditions(true);
    segment();
    read_files();
    segment();
    wait();
    EXPECT_EQ(uris(*main_), (Uris{"s-0.ts", "s-1.ts", "s-2.ts"}));
    EXPECT_EQ(uris(*audio_), (Uris{"s-0~audio2.ts", "s-1~audio2.ts", "s-2~audio2.ts"}));
}

TEST_F(RenditionTest, TakesOverWhatTheMainOneHas) {
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    std::filesystem::remove(root_ + "/live/s-0.ts");
    std::filesystem::remove(root_ + "/live/s-2~audio2.ts");
    begin_run();
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.ts", "!s-2~audio2.ts"}));
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-0~audio2.ts"));
    write_segment();
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.ts", "!s-2~audio2.ts", "s-3~audio2.ts"}));
}

TEST_F(RenditionTest, WhatItTakesOverKeepsItsInitialisationSegment) {
    hls_.use_fmp4 = true;
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    std::filesystem::remove(root_ + "/live/s-0.m4s");
    begin_run();
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.m4s", "s-2~audio2.m4s"}));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-0~audio2.m4s"));
    EXPECT_TRUE(std::filesystem::exists(root_ + "/live/s/init~audio2.mp4"));
    EXPECT_NE(index_.find("v", "live/s/init~audio2.mp4"), nullptr);
}

TEST_F(RenditionTest, BeginsAnewWhereNothingIsToBeRecovered) {
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    begin_run(false);
    EXPECT_EQ(uris(*main_), Uris{});
    EXPECT_EQ(uris(*audio_), Uris{});
    write_segment();
    EXPECT_EQ(uris(*audio_), Uris{"s-0~audio2.ts"});
}

TEST_F(RenditionTest, WithoutTheMainOnesFilesItsOwnAreOfNoUse) {
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    std::filesystem::remove(root_ + "/live/s.m3u8");
    begin_run();
    EXPECT_EQ(uris(*audio_), Uris{});
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-2~audio2.ts"));
    write_segment();
    EXPECT_EQ(uris(*audio_), Uris{"s-0~audio2.ts"});
}

}  // namespace
}  // namespace service::hls
