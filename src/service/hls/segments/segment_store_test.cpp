// The segment stores: which events they report, when, and what is available then. The disk store uses real files and
// injected faults.

#include "service/hls/segments/segment_store.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"
#include "service/hls/config.h"
#include "service/hls/segments/disk_segment_store.h"

namespace service::hls {
namespace {

namespace fs = std::filesystem;
namespace disk = runtime::disk;

class SegmentStoreTest : public testing::Test, public SegmentStoreHost {
  protected:
    void SetUp() override {
        runtime::testing::start_loop_once();
        std::string name = fs::temp_directory_path() / "segment_store_test.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override {
        disk::set_fault(nullptr);
        ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
        fs::remove_all(root_);
    }

    SegmentStoreOptions options(int64_t window_ms = 60'000) const {
        SegmentStoreOptions out;
        out.vhost = "v";
        out.root = out.key_root = root_;
        out.window = {window_ms, 1'000};
        return out;
    }
    SegmentPaths paths(bool mp4 = false) const {
        VhostConfig hls;
        hls.use_fmp4 = mp4;
        return *SegmentPaths::make(hls, {"v", "live", "s"}, true);
    }
    std::shared_ptr<DiskSegmentStore> disk_store(const SegmentStoreOptions& options, bool mp4 = false) {
        auto store = std::make_shared<DiskSegmentStore>(*this, paths(mp4), options, index_);
        store->recover();
        return store;
    }
    void segment(SegmentStore& store, std::string_view bytes, SegmentInfo info = {}) {
        store.open();
        ASSERT_TRUE(store.write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
        info.duration_ms = 1'000;
        store.finish(std::move(info));
    }
    void wait(const SegmentStore& store) {
        for (int i = 0; i < 3'000 && !store.idle(); ++i) ASSERT_TRUE(runtime::sleep_ms(10));
        ASSERT_TRUE(store.idle());
    }
    std::string file(const std::string& path) const {
        std::ifstream in(root_ + "/" + path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
    std::vector<std::string> files() const {
        std::vector<std::string> out;
        for (const auto& entry : fs::recursive_directory_iterator(root_))
            if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), root_));
        std::sort(out.begin(), out.end());
        return out;
    }
    std::vector<std::string> uris(const SegmentStore& store) const {
        std::vector<std::string> out;
        for (const auto& item : store.window().playlist().segments) out.push_back(item.uri);
        return out;
    }

    void store_changed(SegmentStore& store) override {
        ++changes_;
        for (const Entry& entry : store.window().entries())
            EXPECT_NE(index_.find("v", entry.path), nullptr) << entry.path << " is reported and cannot be fetched";
    }
    void segment_done(SegmentStore&, const Entry& entry, uint64_t sequence, const std::string& path) override {
        done_.push_back(std::to_string(sequence) + " " + entry.item.uri + " " +
                        (path.empty() ? "" : fs::relative(path, root_).string()));
    }
    void store_failed(SegmentStore&, const std::string&, const base::Error& error) override {
        failures_.push_back(error.text());
    }

    std::string root_;
    Index index_;
    int changes_ = 0;
    std::vector<std::string> done_;
    std::vector<std::string> failures_;
};

using Strings = std::vector<std::string>;

TEST_F(SegmentStoreTest, MemoryKeepsWhatThePlaylistNamesAndALittleLonger) {
    auto store = make_memory_segment_store(*this, paths(), options(3'000), index_);
    std::string large(100'000, 'x');
    for (int i = 0; i < 5; ++i) segment(*store, i == 4 ? large : std::to_string(i));
    EXPECT_EQ(uris(*store), (Strings{"s-2.ts", "s-3.ts", "s-4.ts"}));
    EXPECT_EQ(changes_, 5);
    EXPECT_EQ(done_.back(), "4 s-4.ts ");
    auto resource = index_.find("v", "live/s-4.ts");
    ASSERT_NE(resource, nullptr);
    EXPECT_EQ(resource->size, large.size());
    ASSERT_NE(resource->pages, nullptr) << "the segment is not where sendfile() can take it";
    const auto parts = resource->pages->parts(0, UINT64_MAX);
    ASSERT_EQ(parts.size(), 1u);
    std::string kept(large.size() + 1, '\0');
    kept.resize(parts[0].source->read_now({reinterpret_cast<uint8_t*>(kept.data()), large.size()}, parts[0].offset));
    EXPECT_TRUE(kept == large);
    EXPECT_NE(index_.find("v", "live/s-0.ts"), nullptr);
    store->tick(runtime::now_ms() + 60'000);
    EXPECT_EQ(index_.find("v", "live/s-0.ts"), nullptr);
    EXPECT_EQ(index_.size(), 3u);
    store->dispose();
    EXPECT_EQ(index_.size(), 0u);
    EXPECT_EQ(store->window().next_sequence(), 5u);
    EXPECT_EQ(files(), Strings{});
}

TEST_F(SegmentStoreTest, WhatIsAbandonedIsNotThere) {
    auto store = make_memory_segment_store(*this, paths(), options(), index_);
    store->open();
    ASSERT_TRUE(store->write(std::vector<uint8_t>(50'000, 1)));
    store->lose();
    segment(*store, "good");
    EXPECT_EQ(index_.find("v", "live/s-0.ts")->size, 4u);
    auto on_disk = disk_store(options());
    on_disk->open();
    ASSERT_TRUE(on_disk->write(std::vector<uint8_t>(50'000, 1)));
    on_disk->abandon();
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), Strings{});
}

TEST_F(SegmentStoreTest, DiskTellsOfASegmentWhenItsPlaylistIsThere) {
    auto store = disk_store(options());
    segment(*store, "first");
    EXPECT_EQ(changes_, 0) << "nothing is on disk yet";
    segment(*store, "second");
    wait(*store);
    EXPECT_EQ(done_, (Strings{"0 s-0.ts live/s-0.ts", "1 s-1.ts live/s-1.ts"}));
    EXPECT_EQ(files(), (Strings{"live/s-0.ts", "live/s-1.ts", "live/s.m3u8"}));
    EXPECT_EQ(file("live/s-1.ts"), "second");
    EXPECT_EQ(file("live/s.m3u8"), m3u8::write(store->window().playlist()).text);
    store->end_list();
    wait(*store);
    EXPECT_TRUE(file("live/s.m3u8").ends_with("#EXT-X-ENDLIST\n"));
    store->dispose();
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), Strings{});
    EXPECT_FALSE(fs::exists(root_ + "/live"));
}

TEST_F(SegmentStoreTest, KeysAndMapsAreThereBeforeWhatNeedsThem) {
    auto store = disk_store(options(), true);
    auto key = std::make_shared<SegmentKey>();
    key->bytes.fill('k');
    auto map = std::make_shared<const std::string>("init");
    auto other = std::make_shared<const std::string>("another");
    std::string iv(32, '0');
    segment(*store, "a", {.key = key, .iv = iv, .init = map});
    segment(*store, "b", {.key = key, .iv = iv, .init = std::make_shared<const std::string>("init")});
    segment(*store, "c", {.discontinuity = true, .key = key, .iv = iv, .init = other});
    wait(*store);
    EXPECT_EQ(files(), (Strings{"live/s-0.key", "live/s-0.m4s", "live/s-1.m4s", "live/s-2.m4s", "live/s.m3u8",
                                "live/s/init-2.mp4", "live/s/init.mp4"}));
    EXPECT_EQ(file("live/s/init-2.mp4"), "another");
    EXPECT_EQ(file("live/s-0.key"), std::string(16, 'k'));
    EXPECT_EQ(store->window().entries()[1].item.map_uri, "s/init.mp4");
    EXPECT_EQ(store->window().entries()[2].item.map_uri, "s/init-2.mp4");
    EXPECT_NE(index_.find("v", "live/s-0.key"), nullptr);
    // The next run continues with the current initialisation segment.
    auto next = disk_store(options(), true);
    segment(*next, "d", {.init = other});
    wait(*next);
    EXPECT_EQ(next->window().entries()[3].item.map_uri, "s/init-2.mp4");
    EXPECT_TRUE(next->window().entries()[3].item.discontinuity);
    EXPECT_EQ(next->window().entries()[3].item.uri, "s-3.m4s");
}

TEST_F(SegmentStoreTest, ASegmentThatCannotBeWrittenLeavesAGapAndNoNumber) {
    auto store = disk_store(options());
    segment(*store, "first");
    wait(*store);
    disk::set_fault(std::make_unique<disk::Fault>(disk::Fault{.path = root_, .on_write = true, .error = EIO}));
    segment(*store, "second");
    wait(*store);
    disk::set_fault(nullptr);
    EXPECT_EQ(failures_.size(), 1u);
    segment(*store, "third");
    wait(*store);
    EXPECT_EQ(done_, (Strings{"0 s-0.ts live/s-0.ts", "1 s-1.ts live/s-1.ts"}));
    EXPECT_EQ(file("live/s-1.ts"), "third");
    EXPECT_TRUE(store->window().entries()[1].item.discontinuity);
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), (Strings{"live/s-0.ts", "live/s-1.ts", "live/s.m3u8"}));
}

TEST_F(SegmentStoreTest, AnotherRunGoesOnWithWhatIsWhole) {
    auto first = disk_store(options());
    for (const char* bytes : {"0", "1", "2", "3"}) segment(*first, bytes);
    wait(*first);
    fs::remove(root_ + "/live/s-1.ts");
    std::ofstream(root_ + "/live/s.m3u8.7.tmp") << "half";
    std::ofstream(root_ + "/live/other.m3u8.7.tmp") << "of another stream";
    std::ofstream(root_ + "/live/s-4.ts") << "named, and in no playlist yet";
    auto second = disk_store(options());
    EXPECT_EQ(uris(*second), (Strings{"s-2.ts", "s-3.ts"}));
    EXPECT_EQ(second->window().first_sequence(), 2u);
    EXPECT_FALSE(fs::exists(root_ + "/live/s-4.ts"));
    segment(*second, "4");
    wait(*second);
    EXPECT_EQ(done_.back(), "4 s-4.ts live/s-4.ts");
    EXPECT_TRUE(second->window().entries().back().item.discontinuity);
    EXPECT_FALSE(fs::exists(root_ + "/live/s.m3u8.7.tmp"));
    EXPECT_TRUE(fs::exists(root_ + "/live/other.m3u8.7.tmp"));
    // A file that is not a playlist is not continued.
    std::ofstream(root_ + "/live/s.m3u8") << "no playlist";
    EXPECT_EQ(disk_store(options())->window().next_sequence(), 0u);
}

TEST_F(SegmentStoreTest, APlaylistThatLeadsElsewhereIsNotFollowed) {
    fs::create_directories(root_ + "/live");
    std::ofstream(root_ + "/precious") << "precious";
    std::ofstream(root_ + "/live/s.m3u8")
        << "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:5\n#EXTINF:1,\n../../" << fs::path(root_).filename()
        << "/precious\n#EXTINF:1,\n"
        << root_ << "/precious\n";
    SegmentStoreOptions anew = options();
    anew.recover = false;
    auto store = disk_store(anew);
    EXPECT_EQ(store->window().entries().size(), 0u);
    EXPECT_EQ(files(), Strings{"precious"});
}

TEST_F(SegmentStoreTest, FilesThatAreGoneLeaveThePlaylist) {
    auto store = disk_store(options());
    for (const char* bytes : {"0", "1", "2"}) segment(*store, bytes);
    wait(*store);
    fs::remove(root_ + "/live/s-1.ts");
    store->verify();
    wait(*store);
    EXPECT_EQ(uris(*store), Strings{"s-2.ts"});
    EXPECT_EQ(store->window().first_sequence(), 2u);
    EXPECT_EQ(file("live/s.m3u8"), m3u8::write(store->window().playlist()).text);
    EXPECT_EQ(failures_.size(), 1u);
}

TEST_F(SegmentStoreTest, AFollowerHasTheNumbersOfTheOther) {
    auto main = disk_store(options());
    auto audio = std::make_shared<DiskSegmentStore>(*this, paths().of_rendition(1), options(), index_);
    audio->recover();
    main->add_follower(audio);
    uint64_t number = 0;
    auto both = [&](bool main_first = true) {
        ++number;
        if (main_first) segment(*main, "video", {.number = number});
        segment(*audio, "audio", {.number = number});
        if (!main_first) segment(*main, "video", {.number = number});
        wait(*main);
        wait(*audio);
    };
    auto fail_at = [&](const std::string& path) {
        disk::set_fault(std::make_unique<disk::Fault>(disk::Fault{.path = path, .on_write = true, .error = EIO}));
    };
    segment(*main, "video", {.number = ++number});
    both();
    both(false);
    EXPECT_EQ(uris(*audio), (Strings{"s-1~audio2.ts", "s-2~audio2.ts"}));
    EXPECT_EQ(file("live/s-2~audio2.ts"), "audio");
    fail_at("s.m3u8.");  // of the main one, while it grows
    both();
    disk::set_fault(nullptr);
    EXPECT_EQ(uris(*audio).size(), 2u);
    both();
    EXPECT_EQ(uris(*audio), (Strings{"s-1~audio2.ts", "s-2~audio2.ts", "s-3~audio2.ts"}));
    EXPECT_TRUE(main->window().entries().back().item.discontinuity &&
                audio->window().entries().back().item.discontinuity);
    fail_at("s~audio2.m3u8.");
    both();
    disk::set_fault(nullptr);
    EXPECT_EQ(uris(*main).back(), "s-4.ts");
    both();
    EXPECT_EQ(uris(*main).back(), "s-5.ts");
    EXPECT_EQ(uris(*audio), Strings{"s-5~audio2.ts"}) << "without its segment 4 the earlier ones leave";
    EXPECT_EQ(audio->window().discontinuities(), main->window().discontinuities());
    EXPECT_EQ(file("live/s~audio2.m3u8"), m3u8::write(audio->window().playlist()).text);
    EXPECT_EQ(failures_.size(), 2u);
    // Another run goes on with both.
    auto main2 = disk_store(options());
    auto audio2 = std::make_shared<DiskSegmentStore>(*this, paths().of_rendition(1), options(), index_);
    audio2->recover();
    main2->add_follower(audio2);
    segment(*main2, "video", {.number = 1});
    segment(*audio2, "audio", {.number = 1});
    wait(*main2);
    wait(*audio2);
    EXPECT_EQ(uris(*audio2), (Strings{"s-5~audio2.ts", "s-6~audio2.ts"}));
    EXPECT_EQ(audio2->window().discontinuities(), main2->window().discontinuities());
}

TEST_F(SegmentStoreTest, AFollowersBytesCountForTheOthersLimit) {
    SegmentStoreOptions small = options();
    small.max_bytes = 100;
    auto main = make_memory_segment_store(*this, paths(), small, index_);
    auto audio = make_memory_segment_store(*this, paths().of_rendition(1), small, index_);
    main->add_follower(audio);
    for (uint64_t number = 1; number <= 10; ++number) {
        segment(*main, "thirty bytes of the main store", {.number = number});
        segment(*audio, "10 more   ", {.number = number});
        EXPECT_LE(main->window().bytes() + audio->window().bytes(), 110u);
        EXPECT_EQ(uris(*main).size(), uris(*audio).size());
    }
    EXPECT_EQ(uris(*audio), (Strings{"s-8~audio2.ts", "s-9~audio2.ts"}));
    main->release_memory();
    EXPECT_EQ(uris(*main), Strings{"s-9.ts"});
    EXPECT_EQ(uris(*audio), Strings{"s-9~audio2.ts"});
    EXPECT_EQ(index_.size(), 2u);
}

// A service that stops waits for its segment stores only for a limited time.
TEST_F(SegmentStoreTest, ASlowDiskMayTakeLongerThanItsServiceLasts) {
    disk::set_fault(std::make_unique<disk::Fault>(*disk::parse_fault("path=" + root_ + " op=close delay_ms=300")));
    for (const bool disposes : {false, true}) {
        alignas(Index) std::array<std::byte, sizeof(Index)> memory;
        auto* index = std::construct_at(reinterpret_cast<Index*>(memory.data()));
        auto store = std::make_shared<DiskSegmentStore>(*this, paths(), options(), *index);
        store->recover();
        segment(*store, "slow");
        EXPECT_FALSE(store->idle());
        store->detach();
        if (disposes) store->dispose();
        std::destroy_at(index);
        memory.fill(std::byte{0xee});
        std::weak_ptr<DiskSegmentStore> left = store;
        store.reset();
        for (int i = 0; i < 3'000 && !left.expired(); ++i) ASSERT_TRUE(runtime::sleep_ms(10));
        EXPECT_TRUE(left.expired());
        ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
        EXPECT_EQ(files(), disposes ? Strings{} : (Strings{"live/s-0.ts", "live/s.m3u8"}));
        fs::remove_all(root_ + "/live");
    }
}

}  // namespace
}  // namespace service::hls
