#include "server/command_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/version.h"

namespace server {
namespace {

using Action = CommandLine::Action;

CommandLine parse(std::vector<const char*> words, const CommandLineEnvironment& environment = {}) {
    words.insert(words.begin(), "objs/srs");
    return parse_command_line(static_cast<int>(words.size()), words.data(), environment);
}

TEST(CommandLine, RunsWithAFileOrTheEnvironment) {
    CommandLine line = parse({"-c", "conf/srs.conf"});
    EXPECT_EQ(line.action, Action::kRun);
    EXPECT_EQ(line.config_file, "conf/srs.conf");
    line = parse({"-e"});
    EXPECT_EQ(line.action, Action::kRun);
    EXPECT_EQ(line.config_file, "");
}

// As in SRS: -e takes precedence over a file, and a file named by the environment over -c's.
TEST(CommandLine, TheEnvironmentNamesTheFile) {
    CommandLine line = parse({"-c", "x", "-e"});
    EXPECT_EQ(line.action, Action::kRun);
    EXPECT_EQ(line.config_file, "");
    EXPECT_EQ(parse({"-c", "x"}, {.config_file = "y"}).config_file, "y");
    line = parse({}, {.config_file = "y"});
    EXPECT_EQ(line.action, Action::kRun);
    EXPECT_EQ(line.config_file, "y");
    EXPECT_EQ(parse({"-t"}, {.config_file = "y"}).action, Action::kTest);
    line = parse({"-c", "x"}, {.config_file = "y", .environment_only = "on"});
    EXPECT_EQ(line.action, Action::kRun);
    EXPECT_EQ(line.config_file, "");
    EXPECT_EQ(parse({"-c", "x"}, {.config_file = "", .environment_only = "off"}).config_file, "x");
    EXPECT_EQ(parse({}, {.config_file = "", .environment_only = ""}).action, Action::kFail);
}

TEST(CommandLine, Tests) {
    EXPECT_EQ(parse({"-t", "-c", "x"}).action, Action::kTest);
    EXPECT_EQ(parse({"-c", "x", "-t"}).action, Action::kTest);
    EXPECT_EQ(parse({"-t", "-e"}).action, Action::kTest);
    EXPECT_EQ(parse({"-t"}).action, Action::kFail);
}

TEST(CommandLine, Why) {
    CommandLine line = parse({"why", "-c", "x", "rtmp://h/live/cam"});
    EXPECT_EQ(line.action, Action::kWhy);
    EXPECT_EQ(line.config_file, "x");
    EXPECT_EQ(line.why.url, "rtmp://h/live/cam");
    EXPECT_TRUE(line.why.plays);
    EXPECT_FALSE(line.why.publishes);
    line = parse({"why", "--publish", "--dry", "--ip", "192.0.2.1", "--page", "http://p/", "rtmp://h/live/cam"});
    EXPECT_EQ(line.action, Action::kWhy);
    EXPECT_EQ(line.why.url, "rtmp://h/live/cam");
    EXPECT_TRUE(line.why.publishes);
    EXPECT_FALSE(line.why.plays);
    EXPECT_EQ(line.why.ip, "192.0.2.1");
    EXPECT_EQ(line.why.page, "http://p/");
    EXPECT_EQ(parse({"why"}).action, Action::kFail);
}

TEST(CommandLine, Doctor) {
    EXPECT_EQ(parse({"doctor"}).action, Action::kDoctor);
    EXPECT_EQ(parse({"doctor"}).config_file, "");
    EXPECT_EQ(parse({"doctor", "-c", "x"}).action, Action::kDoctor);
    EXPECT_EQ(parse({"doctor", "-c", "x"}).config_file, "x");
    EXPECT_EQ(parse({"-c", "x", "doctor"}).config_file, "x");
    EXPECT_EQ(parse({"doctor", "-c", "x", "-e"}).config_file, "");
}

TEST(CommandLine, Prints) {
    EXPECT_EQ(parse({"--version"}).action, Action::kAbout);
    for (const char* flag : {"-v", "-V", "-version"}) {
        EXPECT_EQ(parse({flag}).action, Action::kPrint) << flag;
        EXPECT_EQ(parse({flag}).text, std::string(kVersion) + "\n") << flag;
    }
    for (const char* flag : {"-g", "-G"}) EXPECT_EQ(parse({flag}).text, std::string(kSignature) + "\n") << flag;
    for (const char* flag : {"-h", "-?", "--help"}) {
        EXPECT_EQ(parse({flag}).action, Action::kPrint) << flag;
        EXPECT_NE(parse({flag}).text.find("-c FILE"), std::string::npos) << flag;
    }
    EXPECT_TRUE(parse({"--print-full-conf"}).text.starts_with("# Every directive"));
    EXPECT_TRUE(parse({"--print-config-doc"}).text.starts_with("# Configuration"));
    EXPECT_TRUE(parse({"--print-missing-doc"}).text.starts_with("| what | it | directives |"));
}

TEST(CommandLine, SaysHowItIsUsed) {
    for (std::vector<const char*> words : std::vector<std::vector<const char*>>{
             {}, {"-c"}, {"-x"}, {"conf/srs.conf"}, {"-c", ""}, {"-c", "a", "-c", "b"}}) {
        CommandLine line = parse(words);
        EXPECT_EQ(line.action, Action::kFail);
        EXPECT_TRUE(line.text.starts_with("srs: ")) << line.text;
        EXPECT_TRUE(line.text.ends_with("\n"));
    }
    EXPECT_NE(parse({}).text.find("objs/srs -c conf/srs.conf"), std::string::npos);
}

}  // namespace
}  // namespace server
