// The files of a rendition: which events they report, when, and what is on disk then. Real files and injected faults.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "convert/segments/segment_timeline_testing.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"
#include "service/hls/config.h"
#include "service/hls/segments/recovery.h"

namespace service::hls {
namespace {

namespace fs = std::filesystem;
namespace disk = runtime::disk;
using Strings = std::vector<std::string>;
using Where = SegmentList::Where;

// Of one run of the server.
struct ServerRun final : SegmentFilesHost {
    ServerRun(const SegmentFilesOptions& options, const SegmentPaths& paths, net::Resources& resources)
        : list(std::make_shared<SegmentList>(paths, timeline)) {
        SegmentFilesHost& host = *this;
        files = std::make_shared<SegmentFiles>(host, list, options, resources);
    }
    ~ServerRun() { files->detach(); }

    void recover(const SegmentFilesOptions& options) {
        auto left = read_left(options, list->paths());
        ASSERT_TRUE(left);
        if (!left->any) return;
        timeline->recover(left->timeline);
        list->recover(timeline->kept(), std::move(left->renditions.front().entries));
        files->take_over({});
    }
    void files_changed() override { ++changes; }
    void segment_on_disk(SegmentTimeline::Id id, const std::string& path) override {
        done.push_back(std::to_string(timeline->sequence(id)) + " " + fs::path(path).filename().string());
    }
    void files_failed(const std::string&, const base::Error& error) override { failures.push_back(error.text()); }

    void segment(std::string_view bytes, SegmentContent content = {}, bool discontinuity = false) {
        files->open();
        ASSERT_TRUE(files->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
        const auto id = add(*timeline, {.duration = std::chrono::seconds(1), .discontinuity = discontinuity}, 0);
        list->add(id, {.content = std::move(content), .disk = Entry::Disk::kPending});
        (void)files->finish(id);
    }
    void wait() const {
        for (int i = 0; i < 3'000 && !files->idle(); ++i) ASSERT_TRUE(runtime::sleep_ms(10));
        ASSERT_TRUE(files->idle());
    }
    Strings uris() const {
        Strings out;
        for (const auto& item : list->playlist(Where::kOnDisk).segments)
            out.push_back((item.gap ? "!" : "") + item.uri);
        return out;
    }
    m3u8::Segment item(size_t i) const { return list->playlist(Where::kOnDisk).segments.at(i); }
    void dispose() {
        timeline->expire(0, true);
        files->remove(list->forget());
        files->dispose();
    }

    std::shared_ptr<SegmentTimeline> timeline =
        std::make_shared<SegmentTimeline>(SegmentTimelineOptions{60'000, 1'000});
    std::shared_ptr<SegmentList> list;
    std::shared_ptr<SegmentFiles> files;
    int changes = 0;
    Strings done, failures;
};

class SegmentFilesTest : public testing::Test {
  protected:
    void SetUp() override {
        runtime::testing::start_loop_once();
        std::string name = fs::temp_directory_path() / "segment_files_test.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override {
        disk::set_fault(nullptr);
        ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
        fs::remove_all(root_);
    }

    SegmentFilesOptions options() const {
        SegmentFilesOptions out;
        out.vhost = "v";
        out.root = out.key_root = root_;
        return out;
    }
    static SegmentPaths paths(bool mp4 = false) {
        VhostConfig hls;
        hls.use_fmp4 = mp4;
        return *SegmentPaths::make(hls, {"v", "live", "s"}, true);
    }
    std::unique_ptr<ServerRun> begin(bool mp4 = false) { return begin(options(), mp4); }
    std::unique_ptr<ServerRun> begin(const SegmentFilesOptions& options, bool mp4 = false) {
        auto run = std::make_unique<ServerRun>(options, paths(mp4), resources_);
        run->recover(options);
        return run;
    }
    std::string file(const std::string& path) const {
        std::ifstream in(root_ + "/" + path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
    Strings files() const {
        Strings out;
        for (const auto& entry : fs::recursive_directory_iterator(root_))
            if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), root_));
        std::sort(out.begin(), out.end());
        return out;
    }
    static std::string text_of(const ServerRun& run) { return m3u8::write(run.list->playlist(Where::kOnDisk)).text; }
    void fail_writes() {
        disk::set_fault(std::make_unique<disk::Fault>(disk::Fault{.path = root_, .on_write = true, .error = EIO}));
    }

    std::string root_;
    net::Resources resources_;
};

TEST_F(SegmentFilesTest, WhatIsAbandonedIsNotThere) {
    auto run = begin();
    run->files->open();
    ASSERT_TRUE(run->files->write(std::vector<uint8_t>(50'000, 1)));
    run->files->abandon();
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), Strings{});
}

TEST_F(SegmentFilesTest, ASegmentIsThereWhenItsPlaylistIs) {
    auto run = begin();
    run->segment("first");
    EXPECT_EQ(run->changes, 0) << "nothing is on disk yet";
    run->segment("second");
    run->wait();
    EXPECT_EQ(run->done, (Strings{"0 s-0.ts", "1 s-1.ts"}));
    EXPECT_EQ(files(), (Strings{"live/s-0.ts", "live/s-1.ts", "live/s.m3u8"}));
    EXPECT_EQ(file("live/s-1.ts"), "second");
    EXPECT_EQ(file("live/s.m3u8"), text_of(*run));
    EXPECT_EQ(resources_.find("v", "live/s-1.ts")->root, root_);
    run->list->set_ended(true);
    run->files->rewrite();
    run->wait();
    EXPECT_TRUE(file("live/s.m3u8").ends_with("#EXT-X-ENDLIST\n"));
    run->dispose();
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), Strings{});
    EXPECT_FALSE(fs::exists(root_ + "/live"));
}

TEST_F(SegmentFilesTest, KeysAndMapsAreThereBeforeWhatNeedsThem) {
    auto run = begin(true);
    auto key = std::make_shared<m3u8::SegmentKey>();
    key->bytes.fill('k');
    auto map = std::make_shared<const std::string>("init");
    auto other = std::make_shared<const std::string>("another");
    std::string iv(32, '0');
    run->segment("a", {.key = key, .iv = iv, .init = map});
    run->segment("b", {.key = key, .iv = iv, .init = std::make_shared<const std::string>("init")});
    run->segment("c", {.key = key, .iv = iv, .init = other}, true);
    run->wait();
    EXPECT_EQ(files(), (Strings{"live/s-0.key", "live/s-0.m4s", "live/s-1.m4s", "live/s-2.m4s", "live/s.m3u8",
                                "live/s/init-2.mp4", "live/s/init.mp4"}));
    EXPECT_EQ(file("live/s/init-2.mp4"), "another");
    EXPECT_EQ(file("live/s-0.key"), std::string(16, 'k'));
    EXPECT_EQ(run->item(1).map_uri, "s/init.mp4");
    EXPECT_EQ(run->item(2).map_uri, "s/init-2.mp4");
    // The next run continues with the current initialisation segment.
    auto next = begin(true);
    fs::remove(root_ + "/live/s/init-2.mp4");
    next->segment("d", {.init = other});
    next->wait();
    EXPECT_FALSE(fs::exists(root_ + "/live/s/init-2.mp4")) << "it is not written again";
    EXPECT_EQ(next->item(3).map_uri, "s/init-2.mp4");
    EXPECT_TRUE(next->item(3).discontinuity);
    EXPECT_EQ(next->item(3).uri, "s-3.m4s");
    EXPECT_NE(resources_.find("v", "live/s-0.key"), nullptr);
}

TEST_F(SegmentFilesTest, ASegmentThatCannotBeWrittenIsAGap) {
    auto run = begin(true);
    const auto map = std::make_shared<const std::string>("init");
    run->segment("first", {.init = map});
    run->wait();
    fail_writes();
    run->segment("second", {.init = map});
    run->wait();
    disk::set_fault(nullptr);
    EXPECT_EQ(run->failures.size(), 1u);
    fs::remove(root_ + "/live/s/init.mp4");
    run->segment("third", {.init = map});
    run->wait();
    EXPECT_EQ(run->done, (Strings{"0 s-0.m4s", "2 s-2.m4s"}));
    EXPECT_EQ(run->uris(), (Strings{"s-0.m4s", "!s-1.m4s", "s-2.m4s"}));
    EXPECT_EQ(file("live/s.m3u8"), text_of(*run));
    EXPECT_EQ(file("live/s/init.mp4"), "init") << "after a failure it is written again";
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_EQ(files(), (Strings{"live/s-0.m4s", "live/s-2.m4s", "live/s.m3u8", "live/s/init.mp4"}));
    // The next run knows the gap.
    EXPECT_EQ(begin(true)->uris(), (Strings{"s-0.m4s", "!s-1.m4s", "s-2.m4s"}));
}

TEST_F(SegmentFilesTest, AnotherRunGoesOnWithWhatIsThere) {
    auto first = begin();
    for (const char* bytes : {"0", "1", "2", "3"}) first->segment(bytes);
    first->wait();
    first.reset();
    fs::remove(root_ + "/live/s-0.ts");
    fs::remove(root_ + "/live/s-2.ts");
    std::ofstream(root_ + "/live/s.m3u8.7.tmp") << "half";
    std::ofstream(root_ + "/live/other.m3u8.7.tmp") << "of another stream";
    std::ofstream(root_ + "/live/s-4.ts") << "named, and in no playlist yet";
    auto second = begin();
    EXPECT_EQ(second->uris(), (Strings{"s-1.ts", "!s-2.ts", "s-3.ts"}));
    EXPECT_FALSE(fs::exists(root_ + "/live/s-4.ts"));
    second->segment("4");
    second->wait();
    EXPECT_EQ(second->done.back(), "4 s-4.ts");
    EXPECT_TRUE(second->item(3).discontinuity);
    EXPECT_FALSE(fs::exists(root_ + "/live/s.m3u8.7.tmp"));
    EXPECT_TRUE(fs::exists(root_ + "/live/other.m3u8.7.tmp"));
    second.reset();
    // A file that is not a playlist is not continued.
    std::ofstream(root_ + "/live/s.m3u8") << "no playlist";
    EXPECT_EQ(begin()->timeline->sequence(SegmentTimeline::kFirstId), 0u);
}

TEST_F(SegmentFilesTest, APlaylistThatLeadsElsewhereIsNotFollowed) {
    fs::create_directories(root_ + "/live");
    std::ofstream(root_ + "/precious") << "precious";
    std::ofstream(root_ + "/live/s.m3u8")
        << "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:5\n#EXTINF:1,\n../../" << fs::path(root_).filename()
        << "/precious\n#EXTINF:1,\n"
        << root_ << "/precious\n";
    SegmentFilesOptions anew = options();
    anew.recover = false;
    auto run = begin(anew);
    EXPECT_EQ(run->uris(), Strings{});
    EXPECT_EQ(files(), Strings{"precious"});
}

TEST_F(SegmentFilesTest, FilesThatAreGoneAreGaps) {
    auto run = begin();
    for (const char* bytes : {"0", "1", "2", "3"}) run->segment(bytes);
    run->wait();
    fs::remove(root_ + "/live/s-0.ts");
    fs::remove(root_ + "/live/s-2.ts");
    run->files->verify();
    run->wait();
    EXPECT_EQ(run->uris(), (Strings{"s-1.ts", "!s-2.ts", "s-3.ts"}));
    EXPECT_EQ(file("live/s.m3u8"), text_of(*run));
    EXPECT_EQ(run->failures.size(), 1u);
}

TEST_F(SegmentFilesTest, OfALongPlaylistSomeFilesAreVerifiedAtATime) {
    auto run = begin();
    for (int i = 0; i < 59; ++i) {
        run->segment("x");
        run->wait();
    }
    for (const char* gone : {"/live/s-3.ts", "/live/s-40.ts", "/live/s-58.ts"}) fs::remove(root_ + gone);
    const auto gaps = [&] { return std::ranges::count_if(run->uris(), [](auto& uri) { return uri[0] == '!'; }); };
    run->files->verify();
    run->wait();
    EXPECT_EQ(gaps(), 2) << "one of the first ones, and the newest";
    run->files->verify();
    run->wait();
    EXPECT_EQ(gaps(), 3);
    fs::remove(root_ + "/live/s-5.ts");
    run->files->verify();
    run->wait();
    EXPECT_EQ(gaps(), 4) << "it begins again";
}

TEST_F(SegmentFilesTest, FilesStayWhileThePlaylistOnDiskNamesThem) {
    auto run = begin();
    for (const char* bytes : {"0", "1"}) run->segment(bytes);
    run->wait();
    disk::set_fault(
        std::make_unique<disk::Fault>(disk::Fault{.path = root_ + "/live/s.m3u8", .on_write = true, .error = EIO}));
    run->files->rewrite();
    run->wait();
    run->files->remove({"live/s-0.ts"});
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_TRUE(fs::exists(root_ + "/live/s-0.ts"));
    disk::set_fault(nullptr);
    run->files->rewrite();
    run->wait();
    ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
    EXPECT_FALSE(fs::exists(root_ + "/live/s-0.ts"));
}

// A service that stops waits for its files only for a limited time.
TEST_F(SegmentFilesTest, ASlowDiskMayTakeLongerThanItsServiceLasts) {
    disk::set_fault(std::make_unique<disk::Fault>(*disk::parse_fault("path=" + root_ + " op=close delay_ms=300")));
    for (const bool disposes : {false, true}) {
        alignas(net::Resources) std::array<std::byte, sizeof(net::Resources)> memory;
        auto* resources = std::construct_at(reinterpret_cast<net::Resources*>(memory.data()));
        auto run = std::make_unique<ServerRun>(options(), paths(), *resources);
        run->segment("slow");
        EXPECT_FALSE(run->files->idle());
        run->files->detach();
        if (disposes) run->dispose();
        std::destroy_at(resources);
        memory.fill(std::byte{0xee});
        std::weak_ptr<SegmentFiles> left = run->files;
        run.reset();
        for (int i = 0; i < 3'000 && !left.expired(); ++i) ASSERT_TRUE(runtime::sleep_ms(10));
        EXPECT_TRUE(left.expired());
        ASSERT_TRUE(disk::drain(runtime::Deadline::in_ms(30'000)));
        EXPECT_EQ(files(), disposes ? Strings{} : (Strings{"live/s-0.ts", "live/s.m3u8"}));
        fs::remove_all(root_ + "/live");
    }
}

}  // namespace
}  // namespace service::hls
