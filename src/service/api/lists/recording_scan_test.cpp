#include "service/api/lists/recording_scan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "service/api/lists/search.h"

namespace service::api {
namespace {

namespace fs = std::filesystem;

class RecordingScanTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/recording_scan_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = name;
        root_ = base_ / "rec";
        fs::create_directories(root_);
    }
    void TearDown() override { fs::remove_all(base_); }

    // age_s: how long ago it was modified.
    void put(const fs::path& path, size_t bytes = 1, int age_s = 0) {
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
    }
    RecordingFiles scan(std::vector<RecordingRoot> roots, const std::vector<std::string>& growing = {},
                        const RecordingScan::Bounds& bounds = {}) {
        RecordingScan scan(std::move(roots), growing, bounds);
        int steps = 0;
        while (scan.step(3)) EXPECT_LT(++steps, 10'000);
        return scan.take();
    }
    RecordingFiles scan() { return scan({{"v", root_.string()}}); }
    // "v:live/a.flv", and "*" at the end of an active one.
    static std::vector<std::string> names(const RecordingFiles& found) {
        std::vector<std::string> out;
        for (const RecordingFile& file : found.files)
            out.push_back(found.roots[file.root].vhost + ":" + std::string(found.path(file)) +
                          (file.active ? "*" : ""));
        return out;
    }
    using Names = std::vector<std::string>;

    fs::path base_, root_;
};

TEST(RecordingPath, StaysBelowItsRoot) {
    for (const char* good : {"a.flv", "live/a.mp4", "a/b/c/d.e.flv", "..a.flv", "a../b.flv"})
        EXPECT_TRUE(is_recording_path(good)) << good;
    for (const char* bad : {"", "/a.flv", "../a.flv", "a/../b.flv", "a/./b.flv", "a//b.flv", "a.flv/", ".flv", "a/.mp4",
                            "a.flv.tmp", "a.FLV", "a.ts", "a", "a.flv/.."})
        EXPECT_FALSE(is_recording_path(bad)) << bad;
    EXPECT_FALSE(is_recording_path(std::string_view("a\0.flv", 6)));
}

TEST_F(RecordingScanTest, FindsRecordingsTheNewestFirst) {
    put(root_ / "live/old.flv", 10, 60);
    put(root_ / "live/new.mp4", 20, 1);
    put(root_ / "a/b/middle.flv", 30, 30);
    for (const char* other : {"live/a.ts", "live/a.flv.tmp", "live/a.FLV", "live/.flv", "x"}) put(root_ / other);
    const RecordingFiles found = scan();
    EXPECT_EQ(names(found), (Names{"v:live/new.mp4", "v:a/b/middle.flv", "v:live/old.flv"}));
    EXPECT_EQ(found.files[0].bytes, 20u);
    EXPECT_GT(found.files[0].modified_ms, found.files[1].modified_ms + 20'000);
    EXPECT_FALSE(found.truncated);
}

TEST_F(RecordingScanTest, NothingButRegularFilesAndNoLinks) {
    put(root_ / "good.flv");
    put(base_ / "outside.flv");
    put(root_ / "dir.flv/inner.txt");
    fs::create_symlink("good.flv", root_ / "inside.flv");
    fs::create_symlink(base_ / "outside.flv", root_ / "escape.flv");
    fs::create_directory_symlink(base_, root_ / "up");
    fs::create_directory_symlink(".", root_ / "circle");
    ASSERT_EQ(mkfifo((root_ / "fifo.flv").c_str(), 0600), 0);
    EXPECT_EQ(names(scan()), Names{"v:good.flv"});
}

TEST_F(RecordingScanTest, AFileThatIsBeingWrittenHasThePathThatItGets) {
    put(root_ / "live/a.flv.tmp", 5);
    put(root_ / "live/left.flv.tmp", 5, 60);
    const auto found = scan({{"v", root_.string()}}, {(root_ / "./live//a.flv.tmp").string()});
    EXPECT_EQ(names(found), Names{"v:live/a.flv*"}) << "the other one was left by a crash";
}

TEST_F(RecordingScanTest, RootsMayBeTheSameOrBelowOneAnotherOrMissing) {
    put(root_ / "a.flv", 1, 2);
    put(root_ / "sub/b.flv", 1, 1);
    fs::create_directory_symlink(root_, base_ / "linked");
    EXPECT_EQ(names(scan({{"v", root_.string()}, {"w", root_.string()}, {"x", (base_ / "none").string()}})),
              (Names{"v:sub/b.flv", "v:a.flv"}));
    EXPECT_EQ(names(scan({{"w", (root_ / "sub").string()}, {"v", root_.string()}})), (Names{"w:b.flv", "v:a.flv"}));
    EXPECT_EQ(names(scan({{"v", (base_ / "linked").string()}})), (Names{"v:sub/b.flv", "v:a.flv"}));
}

TEST_F(RecordingScanTest, IsBounded) {
    for (int i = 0; i < 20; ++i) put(root_ / ("f" + std::to_string(i) + ".flv"));
    auto found = scan({{"v", root_.string()}}, {}, {.entries = 10});
    EXPECT_EQ(found.files.size(), 10u);
    EXPECT_TRUE(found.truncated);
    found = scan({{"v", root_.string()}}, {}, {.text_bytes = 30});
    EXPECT_LE(found.text.size(), 30u);
    EXPECT_TRUE(found.truncated);
    EXPECT_FALSE(scan().truncated);
    put(root_ / "1/2/a.flv");
    put(root_ / "1/2/3/b.flv");
    found = scan({{"v", root_.string()}}, {}, {.depth = 2});
    EXPECT_EQ(found.files.size(), 21u) << "what is deeper is skipped, and the rest is found";
    EXPECT_TRUE(found.truncated);
}

}  // namespace
}  // namespace service::api
