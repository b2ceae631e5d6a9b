#include "net/http/opened_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime/loop/testing.h"

namespace net {
namespace {

namespace fs = std::filesystem;
using runtime::testing::ok;

class OpenedFilesTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/opened_files_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        root_ = name;
        put("a", "first");
        if (!open("a")->source->reads_now()) GTEST_SKIP() << "nothing is kept of this file system";
    }
    void TearDown() override { fs::remove_all(root_); }
    void put(const std::string& name, std::string_view text) {
        fs::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name, std::ios::binary) << text;
    }
    OpenedFilePtr open(const std::string& path, bool regular_only = false) {
        auto file = files_.open({root_.string(), path, regular_only, nullptr});
        EXPECT_TRUE(ok(file));
        return file ? *file : std::make_shared<const OpenedFile>();
    }
    std::string text(const OpenedFilePtr& file) {
        if (!file->source) return fmt::format("error {}", file->error);
        auto bytes = file->source->read(0, 1000, runtime::Deadline::in_ms(5000));
        EXPECT_TRUE(ok(bytes));
        return bytes ? std::string(bytes->begin(), bytes->end()) : "";
    }

    fs::path root_;
    OpenedFiles files_;
};

TEST_F(OpenedFilesTest, OpenedOnce) {
    const auto first = open("a");
    EXPECT_EQ(open("a"), first);
    EXPECT_NE(open("a", true), first) << "links are not followed for one of them";
    EXPECT_EQ(text(first), "first");
    EXPECT_EQ(files_.size(), 2u);
    EXPECT_EQ(open("nothing")->error, ENOENT);
    EXPECT_TRUE(open("")->is_directory);
    EXPECT_EQ(files_.size(), 2u) << "only regular files are kept";
}

TEST_F(OpenedFilesTest, ManyAtOnceShareOneOpening) {
    put("b", "many");
    std::vector<OpenedFilePtr> got(30);
    std::vector<runtime::Task> tasks;
    for (auto& one : got) tasks.push_back(runtime::spawn("opener", [&] { one = open("b"); }));
    for (auto& task : tasks) ASSERT_TRUE(ok(task.join(runtime::Deadline::in_ms(5000))));
    for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

TEST_F(OpenedFilesTest, WhoeverOpensMayBeCancelled) {
    put("b", "still");
    auto opener = runtime::spawn("opener", [&] { (void)files_.open({root_.string(), "b", false, nullptr}); });
    ASSERT_TRUE(ok(runtime::yield()));
    OpenedFilePtr other;
    auto waiter = runtime::spawn("waiter", [&] { other = open("b"); });
    ASSERT_TRUE(ok(runtime::yield()));
    opener.cancel_and_join();
    ASSERT_TRUE(ok(waiter.join(runtime::Deadline::in_ms(5000))));
    EXPECT_EQ(text(other), "still");
}

// The file itself is watched: these are noticed at the next request.
TEST_F(OpenedFilesTest, AChangedFileIsOpenedAgainAtOnce) {
    EXPECT_EQ(text(open("a")), "first");
    put("new", "second");
    fs::rename(root_ / "new", root_ / "a");
    EXPECT_EQ(text(open("a")), "second");
    put("a", "longer than before");
    EXPECT_EQ(text(open("a")), "longer than before");
    put("other", "exchanged");
    ASSERT_EQ(renameat2(AT_FDCWD, (root_ / "other").c_str(), AT_FDCWD, (root_ / "a").c_str(), RENAME_EXCHANGE), 0);
    EXPECT_EQ(text(open("a")), "exchanged");
    fs::remove(root_ / "a");
    EXPECT_EQ(open("a")->error, ENOENT);
}

// What is on the way to the file is not watched: it is noticed within a second.
TEST_F(OpenedFilesTest, AChangedWayIsNoticedWithinASecond) {
    put("one/x", "of one");
    put("two/x", "of two");
    fs::create_directory_symlink("one", root_ / "link");
    EXPECT_EQ(text(open("link/x")), "of one");
    fs::remove(root_ / "link");
    fs::create_directory_symlink("two", root_ / "link");
    ASSERT_TRUE(ok(runtime::sleep_ms(OpenedFiles::kKeptMs + 5)));
    EXPECT_EQ(text(open("link/x")), "of two");
}

TEST_F(OpenedFilesTest, TheLeastWantedGive) {
    files_.set_limit(3);
    const auto a = open("a");
    for (int i = 0; i < 10; ++i) {
        put(fmt::format("n{}", i), "x");
        open(fmt::format("n{}", i));
        EXPECT_EQ(open("a"), a) << "the file that is asked for most was dropped for others, round " << i;
        EXPECT_LE(files_.size(), 3u);
    }
    files_.set_limit(0);
    EXPECT_EQ(files_.size(), 0u);
    EXPECT_EQ(text(open("a")), "first");
    EXPECT_EQ(files_.size(), 0u);
}

TEST_F(OpenedFilesTest, ARemovedFileIsClosedSoon) {
    const int fd = open("a")->source->fd();
    fs::remove(root_ / "a");
    for (int i = 0; i < 300 && fcntl(fd, F_GETFD) >= 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    EXPECT_LT(fcntl(fd, F_GETFD), 0);
    EXPECT_EQ(files_.size(), 0u);
}

TEST_F(OpenedFilesTest, NoMoreThanTheConnectionsLeave) {
    EXPECT_EQ(OpenedFiles::limit_beside(INT32_MAX), 16u);
    EXPECT_LE(OpenedFiles::limit_beside(0), 1024u);
}

}  // namespace
}  // namespace net
