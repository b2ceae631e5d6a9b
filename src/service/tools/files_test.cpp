#include "service/tools/files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace service::tools {
namespace {

namespace fs = std::filesystem;

TEST(Files, ALogThatIsTooLongBeginsAnew) {
    const std::string path = fmt::format("/tmp/tools_files_test.{}", getpid());
    std::ofstream process(path, std::ios::app);
    process << std::string(1000, 'a') << std::flush;
    Sample sample{{{getpid(), 0}, {0x7fffffff, 0}}, {path, "/nonexistent/log"}};
    take_sample(sample, 1000);
    EXPECT_EQ(fs::file_size(path), 1000u) << "it is not too long yet";
    process << 'b' << std::flush;
    take_sample(sample, 1000);
    EXPECT_EQ(fs::file_size(path), 0u);
    EXPECT_EQ(fs::file_size(path + ".1"), 1001u);
    process << 'c' << std::flush;
    EXPECT_EQ(fs::file_size(path), 1u) << "its process goes on at the beginning";
    EXPECT_GE(sample.cpu_us[0].second, 0);
    EXPECT_EQ(sample.cpu_us[1].second, 0) << "there is no such process";
    fs::remove(path);
    fs::remove(path + ".1");
}

}  // namespace
}  // namespace service::tools
