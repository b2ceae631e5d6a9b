#include "runtime/disk/file_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/loop/testing.h"

namespace runtime {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        place_ = fs::path(::testing::TempDir()) / ("file_watch_test." + std::to_string(getpid()));
        fs::create_directories(place_ / "a");
        fs::create_directories(place_ / "b");
        write("a/file", "1");
        auto made = watch_files();
        ASSERT_TRUE(testing::ok(made));
        watch_ = *std::move(made);
    }
    void TearDown() override { fs::remove_all(place_); }
    void write(const std::string& name, const std::string& text) { std::ofstream(place_ / name) << text; }
    void watch(const std::string& name) { watch_->watch({(place_ / name).string()}); }
    bool saw() { return watch_->next(Deadline::in_ms(10'000)).has_value(); }
    bool saw_nothing() { return testing::failed_with(watch_->next(Deadline::in_ms(100)), base::Code::kTimeout); }

    fs::path place_;
    std::unique_ptr<FileWatch> watch_;
};

TEST_F(FileWatchTest, WrittenInPlaceRenamedOverRemovedAndBack) {
    watch("a/file");
    EXPECT_TRUE(saw_nothing());
    write("a/file", "2");
    EXPECT_TRUE(saw());
    EXPECT_TRUE(saw_nothing());
    write("b/new", "3");
    fs::rename(place_ / "b/new", place_ / "a/file");
    EXPECT_TRUE(saw());
    fs::remove(place_ / "a/file");
    EXPECT_TRUE(saw());
    write("a/file", "4");
    EXPECT_TRUE(saw());
}

TEST_F(FileWatchTest, OneThatIsNotThereYet) {
    watch("a/later");
    EXPECT_TRUE(saw_nothing());
    write("a/later", "1");
    EXPECT_TRUE(saw());
}

// Configuration as Kubernetes provides it: file -> ..data/file, and the link ..data is redirected.
TEST_F(FileWatchTest, ALinkThatIsTurned) {
    write("b/file", "2");
    fs::create_directory_symlink("a", place_ / "..data");
    fs::create_symlink("..data/file", place_ / "link");
    watch("link");
    EXPECT_TRUE(saw_nothing());
    fs::create_directory_symlink("b", place_ / "..next");
    fs::rename(place_ / "..next", place_ / "..data");
    EXPECT_TRUE(saw());
}

TEST_F(FileWatchTest, ALinkToAFileElsewhere) {
    fs::create_symlink(place_ / "a/file", place_ / "b/link");
    watch("b/link");
    write("new", "3");
    fs::rename(place_ / "new", place_ / "a/file");
    EXPECT_TRUE(saw());
}

TEST_F(FileWatchTest, WhatIsNoLongerWatchedIsNotTold) {
    watch("a/file");
    watch("b/file");
    static_cast<void>(watch_->next(Deadline::in_ms(50)));  // the event that the first watch has ended
    write("a/file", "2");
    EXPECT_TRUE(saw_nothing());
    write("b/file", "2");
    EXPECT_TRUE(saw());
}

}  // namespace
}  // namespace runtime
