#include "runtime/disk/locked_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/loop/testing.h"

namespace runtime {
namespace {

class LockedTextTest : public ::testing::Test {
  protected:
    void SetUp() override {
        testing::start_loop_once();
        std::string name = std::filesystem::temp_directory_path() / "locked_text_test.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        path_ = root_ + "/directory/list";
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    std::string file() const {
        std::ifstream in(path_);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    std::string root_, path_;
};

TEST_F(LockedTextTest, IsTheNextRunsText) {
    {
        LockedText text(path_);
        EXPECT_EQ(text.open(1'000).value_or("error"), "") << "there is none";
        EXPECT_TRUE(text.keep(""));
        EXPECT_FALSE(std::filesystem::exists(path_)) << "without a text there is no file";
        EXPECT_TRUE(text.keep("a longer text\n"));
        EXPECT_TRUE(text.keep("short\n"));
        EXPECT_EQ(file(), "short\n");
    }
    LockedText next(path_);
    EXPECT_EQ(next.open(1'000).value_or("error"), "short\n");
    std::ofstream(path_) << "of another program";
    EXPECT_TRUE(next.keep("short\n"));
    EXPECT_EQ(file(), "of another program") << "it has not changed";
}

TEST_F(LockedTextTest, OneThatIsInUseIsLeftAlone) {
    LockedText first(path_), second(path_);
    ASSERT_TRUE(first.keep("first\n"));
    const auto opened = second.open(1'000);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), base::Code::kBusy);
    EXPECT_TRUE(second.keep("second\n"));
    EXPECT_EQ(file(), "first\n");
    LockedText third(path_);
    EXPECT_FALSE(third.keep("third\n")) << "it was not opened before";
    EXPECT_TRUE(third.keep("again\n")) << "which is told once";
    EXPECT_EQ(file(), "first\n");
}

}  // namespace
}  // namespace runtime
