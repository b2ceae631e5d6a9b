#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "base/clock.h"
#include "base/log_ring.h"

namespace base::log {
namespace {

class LogTest : public testing::Test {
  protected:
    LogTest() {
        std::string pattern = testing::TempDir() + "log_test.XXXXXX";
        directory_ = mkdtemp(pattern.data());
        file_ = directory_ + "/srs.log";
    }
    ~LogTest() override {
        close();
        set_context_provider(nullptr);
        active_level = Level::kTrace;
        std::filesystem::remove_all(directory_);
    }

    void open_file(Level level = Level::kTrace) {
        auto opened = open({.console = false, .file = file_, .level = level});
        ASSERT_TRUE(opened) << opened.error().describe();
    }
    static std::string content(const std::string& path) {
        std::ifstream file(path);
        return std::string(std::istreambuf_iterator<char>(file), {});
    }
    std::string content() {
        flush();
        return content(file_);
    }

    std::string directory_;
    std::string file_;
};

TEST_F(LogTest, TheNewestLinesAreInMemory) {
    const uint64_t before = ring().read({}).next;
    set_context_provider([] { return std::string_view("k3f92a0x"); });
    trace("before it is open {}", 1);
    open_file();
    info("below the level");
    warn("a\nb {}", 2);
    const Ring::Page page = ring().read({.after = before == 0 ? 0 : before});
    ASSERT_EQ(page.lines.size(), 2u);
    EXPECT_EQ(page.lines[0].text, "before it is open 1");
    EXPECT_EQ(page.lines[1].text, "a\\x0ab 2") << "as in the file";
    EXPECT_EQ(page.lines[1].level, Level::kWarn);
    EXPECT_EQ(page.lines[1].id, "k3f92a0x");
    EXPECT_LT(std::abs(page.lines[1].time_ms - wall_ms()), 10'000);
    EXPECT_EQ(page.next, before + 2);
}

TEST_F(LogTest, LineHasTimeLevelPidContextAndErrno) {
    open_file();
    set_context_provider([] { return std::string_view("k3w9"); });
    write(Level::kWarn, "disk is full", 28);
    trace("{} players", 7);
    std::string time = R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\])";
    std::regex lines(
        fmt::format("{0}\\[warn\\]\\[{1}\\]\\[k3w9\\]\\[28\\] disk is full\n"
                    "{0}\\[trace\\]\\[{1}\\]\\[k3w9\\]\\[0\\] 7 players\n",
                    time, getpid()));
    EXPECT_TRUE(std::regex_match(content(), lines)) << content();
}

TEST_F(LogTest, LevelsBelowTheOneInForceAreLeftOut) {
    open_file(Level::kWarn);
    info("no");
    trace("no");
    warn("yes");
    error("yes");
    std::string text = content();
    EXPECT_EQ(text.find("no\n"), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(LogTest, LevelNames) {
    Level level;
    for (auto [name, expected] : {std::pair("verbose", Level::kVerbose),
                                  {"debug", Level::kVerbose},
                                  {"info", Level::kInfo},
                                  {"trace", Level::kTrace},
                                  {"warn", Level::kWarn},
                                  {"error", Level::kError},
                                  {"off", Level::kOff}}) {
        EXPECT_TRUE(parse_level(name, level)) << name;
        EXPECT_EQ(level, expected) << name;
    }
    EXPECT_FALSE(parse_level("loud", level));
}

TEST_F(LogTest, TextFromAPeerCannotForgeALine) {
    open_file();
    trace("stream {}", "a\n[2026-01-01 00:00:00.000][error] b\x1b[2J");
    std::string text = content();
    EXPECT_NE(text.find("stream a\\x0a[2026-01-01 00:00:00.000][error] b\\x1b[2J\n"), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(LogTest, LongTextIsCut) {
    open_file();
    write(Level::kTrace, std::string(10000, 'x'));
    std::string text = content();
    EXPECT_LT(text.size(), 8400u);
    EXPECT_NE(text.find("... (1808 bytes more)\n"), std::string::npos);
}

TEST_F(LogTest, ReopenFollowsARotation) {
    open_file();
    trace("before");
    flush();
    std::filesystem::rename(file_, file_ + ".1");
    ASSERT_TRUE(reopen());
    trace("after");
    EXPECT_NE(content().find("after"), std::string::npos);
    EXPECT_NE(content(file_ + ".1").find("before"), std::string::npos);
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnErrorAndTheOldLogStays) {
    open_file();
    auto opened = open({.console = false, .file = directory_ + "/none/srs.log"});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().system_errno(), ENOENT);
    trace("still here");
    EXPECT_NE(content().find("still here"), std::string::npos);
}

TEST_F(LogTest, BeforeOpenLinesGoToStderr) {
    testing::internal::CaptureStderr();
    warn("early");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("[warn]"), std::string::npos);
}

TEST_F(LogTest, ASlowDiskNeitherBlocksNorGrows) {
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    int reader = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    open_file();
    uint64_t dropped = dropped_lines();
    int64_t begin = monotonic_ms();
    for (int i = 0; i < 20000; ++i) trace("line {} {}", i, "of some length, so that the pipe is soon full of them");
    EXPECT_LT(monotonic_ms() - begin, 3000);
    EXPECT_GT(dropped_lines() - dropped, 5000u);
    // What the reader gets says so.
    std::string read(65'536, ' ');
    size_t told = 0;
    for (int i = 0; i < 200 && told == 0; ++i) {
        const ssize_t n = ::read(reader, read.data(), read.size());
        if (n > 0 &&
            std::string_view(read.data(), static_cast<size_t>(n)).contains("are missing here: it was too slow"))
            ++told;
        trace("more");
        usleep(10'000);
    }
    EXPECT_EQ(told, 1u);
    // Without its reader every write to the pipe fails, and the log still ends soon.
    signal(SIGPIPE, SIG_IGN);
    ::close(reader);
    close();
}

TEST_F(LogTest, LostLinesAreToldWhenThereIsRoom) {
    open_file();
    trace("before");
    flush();
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    // A disk that has room for a part of the next line.
    const rlimit full{std::filesystem::file_size(file_) + 10, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    const uint64_t dropped = dropped_lines();
    for (int i = 0; i < 3; ++i) trace("lost {}", i);
    flush();
    EXPECT_EQ(dropped_lines() - dropped, 3u);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    trace("there is room");
    const std::regex lines(
        ".* before\n"
        ".{10}\n"
        ".*\\[error\\].*\\[-\\]\\[27\\] 3 lines of the log are missing here: they could not be written\n"
        ".* there is room\n");
    EXPECT_TRUE(std::regex_match(content(), lines)) << content();
}

TEST_F(LogTest, AFailedCheckIsInTheFile) {
    open_file();
    trace("queued");
    EXPECT_DEATH(CHECK(1 == 2), "CHECK\\(1 == 2\\) failed at .*log_test.cpp");
    EXPECT_NE(content().find("[error]"), std::string::npos);
}

TEST_F(LogTest, AForkedChildWritesAtOnceAndEnds) {
    open_file();
    pid_t child = fork();
    if (child == 0) {
        trace("from the child");
        flush();
        close();
        _exit(7);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_NE(content().find("from the child"), std::string::npos);
}

}  // namespace
}  // namespace base::log
