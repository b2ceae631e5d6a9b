#include "service/hls/segments/segment_list.h"

#include <gtest/gtest.h>

#include "convert/segments/segment_timeline_testing.h"

namespace service::hls {
namespace {

using Strings = std::vector<std::string>;
using Where = SegmentList::Where;

class SegmentListTest : public testing::Test {
  protected:
    static SegmentPaths paths(bool mp4 = false, const std::string& pattern = {}) {
        VhostConfig hls;
        hls.use_fmp4 = mp4;
        if (!pattern.empty()) hls.ts_file = pattern;
        return *SegmentPaths::make(hls, {"v", "live", "s"}, true);
    }
    void use(SegmentPaths paths) { list_ = std::make_unique<SegmentList>(std::move(paths), timeline_); }
    SegmentTimeline::Id segment(Entry entry, bool discontinuity = false) {
        const auto id = add(*timeline_, {.duration = std::chrono::seconds(1), .discontinuity = discontinuity}, 0);
        list_->add(id, std::move(entry));
        return id;
    }
    static Entry in_memory() { return {.content = {.bytes = 10}, .in_memory = true, .memory_bytes = 10}; }
    static Entry on_disk(Entry::Disk disk) { return {.content = {.bytes = 10}, .disk = disk}; }
    Strings uris(Where where = Where::kAnywhere) const {
        Strings out;
        for (const auto& item : list_->playlist(where).segments) out.push_back((item.gap ? "!" : "") + item.uri);
        return out;
    }
    void forget(int64_t now_ms) {
        timeline_->expire(now_ms);
        forgotten_ = list_->forget();
    }

    std::shared_ptr<SegmentTimeline> timeline_ =
        std::make_shared<SegmentTimeline>(SegmentTimelineOptions{3'000, 1'000});
    std::unique_ptr<SegmentList> list_ = std::make_unique<SegmentList>(paths(), timeline_);
    Strings forgotten_;
};

TEST_F(SegmentListTest, NamesWhatTheTimelineNames) {
    for (int i = 0; i < 5; ++i) segment(in_memory(), i == 3);
    EXPECT_EQ(uris(), (Strings{"s-2.ts", "s-3.ts", "s-4.ts"}));
    const auto playlist = list_->playlist(Where::kAnywhere);
    EXPECT_EQ(playlist.media_sequence, 2u);
    EXPECT_EQ(playlist.discontinuity_sequence, 0u);
    EXPECT_TRUE(playlist.segments[1].discontinuity);
    EXPECT_EQ(list_->bytes_in_memory(), 50u);
    forget(1'000'000);
    EXPECT_EQ(forgotten_, (Strings{"live/s-0.ts", "live/s-1.ts"}));
    EXPECT_EQ(list_->bytes_in_memory(), 30u);
}

TEST_F(SegmentListTest, WhatIsLostIsAGapAndNothingAtTheBeginning) {
    segment(on_disk(Entry::Disk::kLost));
    segment(on_disk(Entry::Disk::kThere));
    segment(on_disk(Entry::Disk::kLost));
    EXPECT_EQ(uris(), (Strings{"s-1.ts", "!s-2.ts"}));
    segment(on_disk(Entry::Disk::kThere));
    EXPECT_EQ(uris(), (Strings{"s-1.ts", "!s-2.ts", "s-3.ts"}));
    EXPECT_EQ(list_->playlist(Where::kAnywhere).media_sequence, 1u);
}

// A track without data keeps the length of its playlist.
TEST_F(SegmentListTest, GapsStayWhenWhatWasBeforeThemLeaves) {
    segment(in_memory());
    segment({});
    EXPECT_EQ(uris(), (Strings{"s-0.ts", "!s-1.ts"}));
    for (int i = 0; i < 2; ++i) segment({});
    EXPECT_EQ(uris(), (Strings{"!s-1.ts", "!s-2.ts", "!s-3.ts"}));
    segment(in_memory());
    EXPECT_EQ(uris(), (Strings{"!s-2.ts", "!s-3.ts", "s-4.ts"}));
}

TEST_F(SegmentListTest, NoGapIsBeforeTheFirstThatIsThere) {
    segment(on_disk(Entry::Disk::kLost));
    segment({});
    EXPECT_EQ(uris(), Strings());
    segment(in_memory());
    EXPECT_EQ(uris(), Strings{"s-2.ts"});
}

TEST_F(SegmentListTest, WhatIsNotKnownYetEndsThePlaylist) {
    segment(on_disk(Entry::Disk::kThere));
    const auto waits = segment(on_disk(Entry::Disk::kPending));
    segment(on_disk(Entry::Disk::kThere));
    EXPECT_EQ(uris(), Strings{"s-0.ts"});
    list_->find(waits)->in_memory = true;
    EXPECT_EQ(uris(), (Strings{"s-0.ts", "s-1.ts", "s-2.ts"}));
    EXPECT_EQ(uris(Where::kOnDisk), Strings{"s-0.ts"});
    list_->find(waits)->disk = Entry::Disk::kLost;
    EXPECT_EQ(uris(Where::kOnDisk), (Strings{"s-0.ts", "!s-1.ts", "s-2.ts"}));
}

TEST_F(SegmentListTest, GoesOnBehindWhatAnEarlierRunHasLeft) {
    timeline_->recover({7, 0, 1, true, {{.duration = std::chrono::seconds(1)}}});
    list_->recover(timeline_->listed(), {Entry{.path = "live/s-7.ts", .disk = Entry::Disk::kThere}});
    segment(in_memory());
    EXPECT_EQ(uris(), (Strings{"s-7.ts", "s-8.ts"}));
}

TEST_F(SegmentListTest, ARenditionThatComesLaterBeginsLater) {
    for (int i = 0; i < 2; ++i) add(*timeline_, {.duration = std::chrono::seconds(1), .discontinuity = i == 1}, 0);
    segment(in_memory(), true);
    EXPECT_EQ(uris(), Strings{"s-2.ts"});
    EXPECT_EQ(list_->playlist(Where::kAnywhere).discontinuity_sequence, 1u);
    // It has none of the next one.
    add(*timeline_, {.duration = std::chrono::seconds(1)}, 0);
    const auto again = segment(in_memory());
    EXPECT_EQ(uris(), (Strings{"s-2.ts", "!s-3.ts", "s-4.ts"}));
    list_->restart_at(again);
    EXPECT_EQ(uris(), Strings{"s-4.ts"});
    EXPECT_NE(list_->find(again - 2), nullptr) << "players may still want it";
}

// A playlist on disk named them, after a restart in the middle of a segment.
TEST_F(SegmentListTest, ASegmentThatItWasNotGivenIsAGapOnDiskToo) {
    segment(on_disk(Entry::Disk::kThere));
    add(*timeline_, {.duration = std::chrono::seconds(1)}, 0);
    segment(on_disk(Entry::Disk::kThere));
    EXPECT_EQ(uris(Where::kOnDisk), (Strings{"s-0.ts", "!s-1.ts", "s-2.ts"}));
    EXPECT_EQ(uris(), (Strings{"s-0.ts", "!s-1.ts", "s-2.ts"}));
}

TEST_F(SegmentListTest, KeysAndMapsGoWithTheLastSegmentThatNeedsThem) {
    use(paths(true));
    const std::shared_ptr<const m3u8::SegmentKey> keys[] = {std::make_shared<m3u8::SegmentKey>(),
                                                            std::make_shared<m3u8::SegmentKey>()};
    const std::string iv(32, '0');
    for (int i = 0; i < 5; ++i) {
        Entry entry = in_memory();
        entry.content.key = keys[i < 2 ? 0 : 1];
        entry.content.iv = iv;
        entry.content.init = std::make_shared<const std::string>(i < 4 ? "init" : "another");
        segment(std::move(entry));
    }
    EXPECT_EQ(list_->find(list_->end() - 1)->map_path, "live/s/init-4.mp4");
    EXPECT_EQ(list_->find(list_->end() - 2)->map_path, "live/s/init.mp4");
    EXPECT_EQ(list_->playlist(Where::kAnywhere).segments[0].key, (m3u8::Key{"s-2.key", iv}));
    forget(1'000'000);
    EXPECT_EQ(forgotten_, (Strings{"live/s-0.m4s", "live/s-1.m4s", "live/s-0.key"}));
}

TEST_F(SegmentListTest, TheOpenSegmentHasItsMapAndItsParts) {
    use(paths(true));
    const auto init = std::make_shared<const std::string>("init");
    timeline_->open({});
    list_->open(init).parts = {10, 0};
    EXPECT_EQ(list_->open_segment()->map_path, "live/s/init.mp4");
    EXPECT_FALSE(list_->is_listed(Where::kAnywhere));
    const auto id = timeline_->close(std::chrono::seconds(1), 0);
    list_->add(id, in_memory());
    EXPECT_EQ(list_->open_segment(), nullptr);
    EXPECT_EQ(list_->find(id)->parts, (std::vector<uint64_t>{10, 0}));
    EXPECT_EQ(list_->playlist(Where::kAnywhere).segments[0].map_uri, "s/init.mp4");
    timeline_->open({});
    list_->open(init);
    EXPECT_EQ(list_->abandon(), "") << "it is used by another one";
    list_->open(std::make_shared<const std::string>("another"));
    EXPECT_EQ(list_->abandon(), "live/s/init-1.mp4");
}

TEST_F(SegmentListTest, NoTwoSegmentsHaveOneName) {
    use(paths(false, "[app]/[stream].ts"));
    for (int i = 0; i < 3; ++i) segment(in_memory());
    EXPECT_EQ(uris(), (Strings{"s.ts", "s-1.ts", "s-2.ts"}));
}

}  // namespace
}  // namespace service::hls
