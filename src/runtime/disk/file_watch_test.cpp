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
        directory_ = fs::path(::testing::TempDir()) / ("file_watch_test." + std::to_string(getpid()));
        fs::create_directories(directory_ / "a");
        fs::create_directories(directory_ / "b");
        write("a/file", "1");
        auto made = watch_files();
        ASSERT_TRUE(testing::ok(made));
        watch_ = *std::move(made);
    }
    void TearDown() override { fs::remove_all(directory_); }
    void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }
    void watch(const std::string& name) { watch_->watch({(directory_ / name).string()}); }
    bool saw() { return watch_->next(Deadline::in_ms(10'000)).has_value(); }
    bool saw_nothing() { return testing::failed_with(watch_->next(Deadline::in_ms(100)), base::Code::kTimeout); }

    fs::path directory_;
    std::unique_ptr<FileWatch> watch_;
};

TEST_F(FileWatchTest, WrittenInPlaceRenamedOverRemovedAndBack) {
    watch("a/file");
    EXPECT_TRUE(saw_nothing());
    write("a/file", "2");
    EXPECT_TRUE(saw());
    EXPECT_TRUE(saw_nothing());
    write("b/new", "3");
    fs::rename(directory_ / "b/new", directory_ / "a/file");
    EXPECT_TRUE(saw());
    fs::remove(directory_ / "a/file");
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
    fs::create_directory_symlink("a", directory_ / "..data");
    fs::create_symlink("..data/file", directory_ / "link");
    watch("link");
    EXPECT_TRUE(saw_nothing());
    fs::create_directory_symlink("b", directory_ / "..next");
    fs::rename(directory_ / "..next", directory_ / "..data");
    EXPECT_TRUE(saw());
}

TEST_F(FileWatchTest, ALinkToAFileElsewhere) {
    fs::create_symlink(directory_ / "a/file", directory_ / "b/link");
    watch("b/link");
    write("new", "3");
    fs::rename(directory_ / "new", directory_ / "a/file");
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
