#include "server/reload/config_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "server/process/open_files.h"

extern char** environ;

namespace server {
namespace {

class ConfigSourceTest : public testing::Test {
  protected:
    void SetUp() override {
        path_ = testing::TempDir() + "config_source_test." + std::to_string(getpid()) + ".conf";
        clear_environment();
    }
    void TearDown() override { ::unlink(path_.c_str()); }
    void write(const std::string& text) { std::ofstream(path_) << text; }
    // Variables of the test run (SRS_OBJS) must not count as configuration.
    static void clear_environment() {
        std::vector<std::string> names;
        for (char** entry = environ; *entry; ++entry) names.emplace_back(*entry, std::strcspn(*entry, "="));
        for (const std::string& name : names) {
            if (name.starts_with("SRS_")) unsetenv(name.c_str());
        }
    }
    std::string path_;
};

TEST_F(ConfigSourceTest, ReadsTheFileAndTheEnvironment) {
    write("listen 1; daemon on; vhost a { }");
    setenv("SRS_DAEMON", "off", 1);
    config::Loaded loaded = ConfigSource(path_).load();
    unsetenv("SRS_DAEMON");
    ASSERT_TRUE(loaded.snapshot);
    EXPECT_FALSE(loaded.snapshot->global.daemon);
    EXPECT_EQ(describe(loaded, "x"), "x: valid, 0 errors, 0 warnings\n");
}

TEST_F(ConfigSourceTest, DescribesEveryProblem) {
    write("listen x;\nnope 1;\nvhost a { hds { enabled on; hds_window 5; } }");
    config::Loaded loaded = ConfigSource(path_).load();
    std::string text = describe(loaded, "x");
    EXPECT_NE(text.find(path_ + ":1: error: listen: 'x' has no port number"), std::string::npos) << text;
    EXPECT_NE(text.find(path_ + ":2: error: unknown directive 'nope'"), std::string::npos) << text;
    EXPECT_NE(text.find(path_ + ":3: warning: HDS is left out"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("x: invalid, 3 errors, 1 warning\n")) << text;
}

TEST_F(ConfigSourceTest, SaysWhyAFileCannotBeRead) {
    EXPECT_EQ(describe(ConfigSource("/nonexistent").load(), "x"),
              "/nonexistent: error: no such file\nx: invalid, 1 error, 0 warnings\n");
    EXPECT_EQ(describe(ConfigSource("/tmp").load(), "x"),
              "/tmp: error: is a directory\nx: invalid, 1 error, 0 warnings\n");
}

TEST_F(ConfigSourceTest, FindsItsFileFromWhereItStarted) {
    char before[4096];
    ASSERT_NE(getcwd(before, sizeof before), nullptr);
    write("listen 1; vhost a { }");
    ASSERT_EQ(chdir(testing::TempDir().c_str()), 0);
    ConfigSource source(path_.substr(path_.rfind('/') + 1));
    ASSERT_EQ(chdir("/"), 0);
    EXPECT_TRUE(source.load().snapshot);
    ASSERT_EQ(chdir(before), 0);
}

TEST_F(ConfigSourceTest, TellsWhatItReadAndWhatItMissed) {
    const std::string part = path_ + ".part";
    write("listen 1; vhost a { } include " + part + "; include " + part + ".missing;");
    std::ofstream(part) << "daemon off;";
    FileMarks read;
    EXPECT_FALSE(ConfigSource(path_).load(&read).snapshot);
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[0].path, path_);
    EXPECT_EQ(read[1].path, part);
    EXPECT_TRUE(read[1].there);
    EXPECT_EQ(read[2].path, part + ".missing");
    EXPECT_FALSE(read[2].there);
    EXPECT_EQ(read_again(read), read);
    std::ofstream(part + ".missing") << "";
    FileMarks now = read_again(read);
    EXPECT_NE(now, read);
    EXPECT_TRUE(now[2].there);
    ::unlink(part.c_str());
    ::unlink((part + ".missing").c_str());
}

TEST(OpenFiles, ConnectionsFitUnderTheLimit) {
    struct Row {
        uint64_t limit;
        int wanted, allowed;
    };
    for (const auto& [limit, wanted, allowed] :
         {Row{1'000'000, 20'000, 20'000}, Row{20'000, 18'876, 18'876}, Row{20'000, 18'877, 18'876},
          Row{1'024, 1'000, 796}, Row{256, 1'000, 160}, Row{112, 1'000, 16}, Row{100, 3, 3}}) {
        const auto fit = connections_within(limit, wanted);
        ASSERT_TRUE(fit) << limit << ": " << fit.error().text();
        EXPECT_EQ(*fit, allowed) << limit;
        EXPECT_EQ(open_file_warning(limit, wanted).empty(), wanted == allowed) << limit;
        const uint64_t needed = open_files_for(wanted);
        EXPECT_EQ(connections_within(needed, wanted).value_or(0), wanted) << needed;
        EXPECT_NE(connections_within(needed - 1, wanted).value_or(0), wanted) << needed;
    }
    EXPECT_FALSE(connections_within(111, 1'000));
    EXPECT_FALSE(connections_within(0, 1));
    EXPECT_EQ(open_file_warning(1024, 1000),
              "max_connections 1000 needs a limit of 1257 open files, and it is 1024: 796 connections are allowed; "
              "raise the limit (ulimit -n 1257) or lower max_connections");
}

TEST(OpenFiles, TheTableHasRoom) {
    EXPECT_GT(raise_open_file_limit(), 0u);
    make_room_for_open_files(300, 1'000'000);  // no more than the limit
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("FDSize:")) continue;
        EXPECT_GE(std::stoi(line.substr(7)), 300) << line;
    }
}

}  // namespace
}  // namespace server
