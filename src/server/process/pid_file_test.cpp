#include "server/process/pid_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace server {
namespace {

class PidFileTest : public testing::Test {
  protected:
    void SetUp() override {
        path_ = testing::TempDir() + "pid_file_test." + std::to_string(getpid());
        ::unlink(path_.c_str());
    }
    void TearDown() override { ::unlink(path_.c_str()); }
    std::string content() const {
        std::ostringstream text;
        text << std::ifstream(path_).rdbuf();
        return text.str();
    }
    std::string path_;
};

TEST_F(PidFileTest, HoldsThePidAndGoesWithTheProcess) {
    {
        auto file = PidFile::lock(path_);
        ASSERT_TRUE(file.has_value());
        ASSERT_TRUE(file->write().has_value());
        EXPECT_EQ(content(), std::to_string(getpid()) + "\n");
    }
    EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(PidFileTest, RefusesASecondOne) {
    auto first = PidFile::lock(path_);
    ASSERT_TRUE(first && first->write());
    auto second = PidFile::lock(path_);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code(), base::Code::kBusy);
    EXPECT_NE(second.error().text().find("process " + std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(content(), std::to_string(getpid()) + "\n");
}

TEST_F(PidFileTest, TakesOverAStaleFile) {
    std::ofstream(path_) << "123456789012 and more than the new content\n";
    auto file = PidFile::lock(path_);
    ASSERT_TRUE(file && file->write());
    EXPECT_EQ(content(), std::to_string(getpid()) + "\n");
}

TEST_F(PidFileTest, ALockIsGivenToAnotherProcess) {
    {
        auto before = PidFile::lock(path_);
        ASSERT_TRUE(before && before->write());
        auto after = PidFile::adopt(path_, dup(before->fd()));
        ASSERT_TRUE(after.has_value()) << after.error().text();
        before->leave();
        { const PidFile gone = *std::move(before); }
        EXPECT_EQ(access(path_.c_str(), F_OK), 0) << "it is the other process's";
        EXPECT_FALSE(PidFile::lock(path_)) << "and so is the lock";
        ASSERT_TRUE(after->write());
    }
    EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(PidFileTest, AnotherPathIsLockedAnew) {
    auto before = PidFile::lock(path_);
    ASSERT_TRUE(before && before->write());
    auto other = PidFile::adopt(path_ + ".other", dup(before->fd()));
    ASSERT_TRUE(other && other->write());
    EXPECT_EQ(access((path_ + ".other").c_str(), F_OK), 0);
    EXPECT_TRUE(PidFile::adopt(path_ + ".third", -1).has_value());
    ::unlink((path_ + ".third").c_str());
}

TEST_F(PidFileTest, ALockThatWroteNothingLeavesTheFile) {
    std::ofstream(path_) << "1\n";
    { auto file = PidFile::lock(path_); }
    EXPECT_EQ(content(), "1\n");
}

TEST_F(PidFileTest, TheLockPassesToAForkedChild) {
    int ready[2], over[2];
    ASSERT_EQ(pipe(ready) + pipe(over), 0);
    pid_t child = -1;
    {
        auto file = PidFile::lock(path_);
        ASSERT_TRUE(file.has_value());
        child = fork();
        if (child == 0) {
            char byte;
            bool good = file->write().has_value() && ::write(ready[1], "x", 1) == 1 && ::read(over[0], &byte, 1) == 1;
            _exit(good ? 0 : 1);
        }
        char byte;
        ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    }
    EXPECT_EQ(content(), std::to_string(child) + "\n");
    EXPECT_FALSE(PidFile::lock(path_).has_value());
    ASSERT_EQ(::write(over[1], "x", 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(PidFile::lock(path_).has_value());
    for (int fd : {ready[0], ready[1], over[0], over[1]}) close(fd);
}

TEST_F(PidFileTest, SaysWhatIsWrongWithThePath) {
    auto file = PidFile::lock("/dev/null/srs.pid");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().text(), "the pid file /dev/null/srs.pid: making the directory /dev/null: Not a directory");
}

}  // namespace
}  // namespace server
