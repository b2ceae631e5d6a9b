// A rendition and what an earlier run has left of it, in real files.

#include "service/hls/rendition.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
        if (main_ && audio_) wait();
        main_.reset(), audio_.reset();
        ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
        std::filesystem::remove_all(root_);
    }

    // As a run of the server. recover: hls_recover.
    void begin_run(bool recover = true) {
        recovers_ = recover;
        make_renditions();
        read_files();
    }
    void make_renditions() {
        const VhostConfig& hls = hls_;
        const SegmentPaths paths = *SegmentPaths::make(hls, {"v", "live", "s"}, true);
        const SegmentFilesOptions options = options_of_files();
        timeline_ = std::make_shared<SegmentTimeline>(SegmentTimelineOptions{60'000, 1'000});
        RenditionHost& host = *this;
        main_.reset(), audio_.reset();
        writer_ = std::make_unique<SegmentWriter>(
            SegmentWriterOptions{hls.use_fmp4, hls.storage != "disk" || hls.has_parts(), hls.keys});
        main_ = std::make_unique<Rendition>(host, hls, paths, options, resources_, timeline_, *writer_);
        audio_ = std::make_unique<Rendition>(host, hls, paths.of_rendition(audio_rendition(1)), options, resources_,
                                             timeline_, *writer_);
    }
    void read_files() {
        SegmentFilesOptions options = options_of_files();
        options.recover = recovers_;
        auto left = read_left(options, main_->paths());
        ASSERT_TRUE(left);
        if (left->any) timeline_->recover(left->timeline);
        for (LeftRendition& one : left->renditions)
            (one.id == kMainRendition ? main_ : audio_)->take_over(std::move(one));
    }
    SegmentFilesOptions options_of_files() const {
        SegmentFilesOptions options;
        options.vhost = "v";
        options.root = options.key_root = root_;
        return options;
    }
    void segment() {
        open();
        ASSERT_TRUE(writer_->add(aac(0)));
        ASSERT_TRUE(writer_->add(aac(1)));
        close();
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
            for (const auto& item : view->playlist().segments) out.push_back((item.gap ? "!" : "") + item.uri);
        return out;
    }

    void segment_done(Rendition&, SegmentTimeline::Id, const std::string&) override {}
    void segment_failed(const std::string&, const base::Error& error) override { ADD_FAILURE() << error.text(); }
    std::vector<const Rendition*> others(const Rendition& rendition) const override {
        return {&rendition == main_.get() ? audio_.get() : main_.get()};
    }

    // Of two audio tracks, of which the main rendition has the first.
    static media::Frame aac(uint8_t track) {
        media::Frame frame;
        frame.kind = media::Kind::kAudio;
        frame.codec = media::Codec::kAac;
        frame.track = track;
        frame.payload = base::Slice::copy(base::hex("1210"));
        return frame;
    }
    void open() {
        media::TrackSet tracks;
        for (const uint8_t track : {0, 1}) {
            media::Frame header = aac(track);
            header.sequence_header = true;
            tracks.update(header);
        }
        timeline_->open({});
        writer_->open(tracks, aac(0), timeline_->end() == SegmentTimeline::kFirstId);
        ASSERT_TRUE(main_->open(writer_->lane_of(media::Kind::kAudio, 0)));
        ASSERT_TRUE(audio_->open(writer_->lane_of(media::Kind::kAudio, 1)));
    }
    // In low latency: a part with a frame of the main rendition, and of the other one or not.
    void part(bool audio_too) {
        ASSERT_TRUE(writer_->add(aac(0)));
        if (audio_too) {
            ASSERT_TRUE(writer_->add(aac(1)));
        }
        writer_->end_part({});
        main_->end_part();
        audio_->end_part();
        timeline_->end_part({{}, std::chrono::milliseconds(300), true});
        main_->show_part();
        audio_->show_part();
    }
    void close() {
        writer_->end_part({});
        const auto id = timeline_->close(std::chrono::seconds(1), runtime::now_ms());
        main_->close(id);
        audio_->close(id);
    }
    // What HTTP serves there; "none": nothing.
    std::string bytes(const std::string& path) const {
        const net::ResourcePtr resource = resources_.find("v", path);
        if (!resource) return "none";
        if (!resource->root.empty()) return "a file";
        std::string out;
        for (const auto& part : resource->parts(0, resource->size)) {
            std::string piece(part.length, '\0');
            EXPECT_EQ(pread(part.source->fd(), piece.data(), piece.size(), static_cast<off_t>(part.offset)),
                      static_cast<ssize_t>(piece.size()));
            out += piece;
        }
        return out;
    }

    VhostConfig hls_;
    std::string root_;
    bool recovers_ = true;
    net::Resources resources_;
    std::shared_ptr<SegmentTimeline> timeline_;
    std::unique_ptr<SegmentWriter> writer_;
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
    EXPECT_TRUE(audio_->view()->playlist().segments[2].discontinuity);
}

TEST_F(RenditionTest, TakesOverWhatTheMainOneHas) {
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    std::filesystem::remove(root_ + "/live/s-0.ts");
    std::filesystem::remove(root_ + "/live/s-2~audio2.ts");
    begin_run();
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.ts", "!s-2~audio2.ts"}));
    wait();
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-0~audio2.ts"));
    std::ifstream playlist(root_ + "/live/s~audio2.m3u8");
    const std::string text{std::istreambuf_iterator<char>(playlist), {}};
    EXPECT_EQ(text.find("s-0~audio2.ts"), std::string::npos) << "it does not name what is gone: " << text;
    write_segment();
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.ts", "!s-2~audio2.ts", "s-3~audio2.ts"}));
}

TEST_F(RenditionTest, WhatItTakesOverKeepsItsInitialisationSegment) {
    hls_.use_fmp4 = true;
    begin_run();
    for (int i = 0; i < 3; ++i) write_segment();
    std::filesystem::remove(root_ + "/live/s-0.m4s");
    begin_run();
    wait();
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(uris(*audio_), (Uris{"s-1~audio2.m4s", "s-2~audio2.m4s"}));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-0~audio2.m4s"));
    EXPECT_TRUE(std::filesystem::exists(root_ + "/live/s/init~audio2.mp4"));
    EXPECT_NE(resources_.find("v", "live/s/init~audio2.mp4"), nullptr);
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
    wait();
    ASSERT_TRUE(runtime::disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/live/s-2~audio2.ts"));
    write_segment();
    EXPECT_EQ(uris(*audio_), Uris{"s-0~audio2.ts"});
}

TEST_F(RenditionTest, BytesAreKeptOnce) {
    hls_.storage = "memory";
    make_renditions();
    const SegmentPaths all_names = main_->paths().of_rendition(audio_rendition(3));
    SegmentFilesOptions options;
    options.vhost = "v";
    RenditionHost& host = *this;
    Rendition all(host, hls_, all_names, options, resources_, timeline_, *writer_);
    open();
    ASSERT_TRUE(all.open(convert::kTsLanes));
    for (const uint8_t track : {0, 1}) ASSERT_TRUE(writer_->add(aac(track)));
    writer_->end_part({});
    const auto id = timeline_->close(std::chrono::seconds(1), 0);
    for (Rendition* one : {main_.get(), audio_.get(), &all}) one->close(id);
    EXPECT_EQ(main_->memory(), 3 * 188u);
    EXPECT_EQ(audio_->memory(), 3 * 188u);
    EXPECT_EQ(all.memory(), 0u);
    EXPECT_EQ(bytes("live/s-0~audio4.ts"), bytes("live/s-0.ts") + bytes("live/s-0~audio2.ts"));
}

TEST_F(RenditionTest, EncryptedBytesAreEachRenditionsOwn) {
    hls_.storage = "memory";
    hls_.keys = true;
    make_renditions();
    segment();
    EXPECT_EQ(bytes("live/s-0.ts").size(), 3 * 188u + 12) << "padded to whole blocks";
    EXPECT_EQ(bytes("live/s-0~audio2.ts").size(), 3 * 188u + 12);
    EXPECT_NE(bytes("live/s-0.ts"), bytes("live/s-0~audio2.ts"));
    EXPECT_EQ(main_->memory() + audio_->memory(), 2 * (3 * 188u + 12));
}

TEST_F(RenditionTest, PartsAreRangesOfTheSegmentsBytes) {
    hls_.low_latency = true;
    hls_.storage = "memory";
    make_renditions();
    open();
    part(true);
    part(false);
    part(true);
    const std::string first = bytes("live/s~p0.ts"), second = bytes("live/s~p1.ts"), third = bytes("live/s~p2.ts");
    EXPECT_EQ(first.size(), 3 * 188u) << "tables and a packet";
    EXPECT_EQ(bytes("live/s~audio2~p1.ts"), "none") << "it has no frame there";
    EXPECT_EQ(audio_->list().open_segment()->parts, (std::vector<uint64_t>{3 * 188, 0, 3 * 188}));
    EXPECT_EQ(uris(*main_), Uris{}) << "the segment is not complete";
    close();
    EXPECT_EQ(uris(*main_), Uris{"s-0.ts"});
    EXPECT_EQ(bytes("live/s-0.ts"), first + second + third);
    EXPECT_EQ(bytes("live/s-0~audio2.ts"), bytes("live/s~audio2~p0.ts") + bytes("live/s~audio2~p2.ts"));
    // Numbers run on.
    open();
    part(true);
    EXPECT_EQ(bytes("live/s~p3.ts").size(), 3 * 188u);
    EXPECT_EQ(bytes("live/s~p0.ts"), first);
    // Memory is short: what is left is complete.
    close();
    main_->drop_from_memory(*main_->oldest_in_memory());
    EXPECT_EQ(bytes("live/s~p0.ts"), "none");
    EXPECT_NE(bytes("live/s~p3.ts"), "none");
    timeline_->expire(0, true);
    main_->forget();
    EXPECT_EQ(bytes("live/s~p3.ts"), "none");
}

TEST_F(RenditionTest, ThePlaylistNamesItsPartsAndTheNextOne) {
    hls_.low_latency = true;
    hls_.storage = "memory";
    make_renditions();
    timeline_->set_part_target(std::chrono::milliseconds(360));
    open();
    part(true);
    EXPECT_FALSE(main_->view()) << "there is no segment yet";
    EXPECT_EQ(resources_.announced("v", "live/s~p1.ts"), nullptr);
    close();
    const auto text = [](const Rendition& rendition) { return *rendition.view()->body({}).text; };
    const std::string complete =
        "#EXT-X-PART:DURATION=0.30000,URI=\"s~p0.ts\",INDEPENDENT=YES\n#EXTINF:1.00000,\ns-0.ts\n";
    EXPECT_TRUE(text(*main_).ends_with(complete +
                                       "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s~p1.ts\"\n"
                                       "#EXT-X-RENDITION-REPORT:URI=\"s~audio2.m3u8\",LAST-MSN=0,LAST-PART=0\n"))
        << text(*main_);
    EXPECT_NE(text(*main_).find("CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.08000\n#EXT-X-PART-INF:PART-TARGET=0.36000\n"),
              std::string::npos);
    ASSERT_NE(resources_.announced("v", "live/s~p1.ts"), nullptr);
    EXPECT_EQ(resources_.announced("v", "live/s~p1.ts")->limit_ms, 3'000);
    open();
    part(true);
    part(false);
    EXPECT_TRUE(
        text(*audio_).ends_with("#EXT-X-PART:DURATION=0.30000,URI=\"s~audio2~p1.ts\",INDEPENDENT=YES\n"
                                "#EXT-X-PART:DURATION=0.30000,URI=\"s~audio2~p2.ts\",GAP=YES\n"
                                "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s~audio2~p3.ts\"\n"
                                "#EXT-X-RENDITION-REPORT:URI=\"s.m3u8\",LAST-MSN=1,LAST-PART=1\n"))
        << text(*audio_);
    EXPECT_EQ(main_->view()->end().next, (m3u8::PartPosition{1, 2}));
    EXPECT_EQ(resources_.announced("v", "live/s~p1.ts"), nullptr) << "it is there";
    EXPECT_EQ(resources_.announced("v", "live/s~audio2~p2.ts"), nullptr) << "it is a gap";
    EXPECT_NE(resources_.announced("v", "live/s~audio2~p3.ts"), nullptr);
    close();
    main_->end_list();
    EXPECT_TRUE(text(*main_).ends_with("s-1.ts\n#EXT-X-ENDLIST\n")) << text(*main_);
    EXPECT_EQ(resources_.announced("v", "live/s~p3.ts"), nullptr);
}

TEST_F(RenditionTest, PartsOfASegmentThatIsLostGoWhenTheyAreOld) {
    hls_.low_latency = true;
    hls_.storage = "memory";
    make_renditions();
    open();
    part(true);
    const auto id = timeline_->close(std::chrono::milliseconds(300), 0);
    main_->lose();
    audio_->lose();
    writer_->lose();
    EXPECT_EQ(main_->list().open_segment(), nullptr);
    EXPECT_EQ(uris(*main_), Uris{});
    open();
    part(true);
    close();
    EXPECT_EQ(uris(*main_), Uris{"s-1.ts"});
    EXPECT_NE(bytes("live/s~p0.ts"), "none");
    timeline_->expire(0, true);
    main_->forget();
    EXPECT_EQ(bytes("live/s~p0.ts"), "none");
    EXPECT_EQ(timeline_->kept(), id + 2);
}

TEST_F(RenditionTest, WithFilesASegmentIsInMemoryUntilItIsOnDisk) {
    hls_.low_latency = true;
    begin_run();
    open();
    part(true);
    const std::string first = bytes("live/s~p0.ts");
    close();
    EXPECT_EQ(bytes("live/s-0.ts"), first) << "players do not wait for the disk";
    EXPECT_EQ(uris(*main_), Uris{"s-0.ts"});
    wait();
    EXPECT_EQ(bytes("live/s-0.ts"), "a file");
    EXPECT_EQ(bytes("live/s~p0.ts"), first);
    EXPECT_GE(main_->memory(), first.size());
    EXPECT_EQ(main_->list().bytes_in_memory(), 0u);
}

}  // namespace
}  // namespace service::hls
