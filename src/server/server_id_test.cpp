#include "server/server_id.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/process/directories.h"

namespace server {
namespace {

class ServerIdTest : public testing::Test {
  protected:
    void SetUp() override {
        directory_ = testing::TempDir() + "server_id_test." + std::to_string(getpid());
        pid_ = directory_ + "/a/b/srs.pid";
        std::filesystem::remove_all(directory_);
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::string kept() const {
        std::ostringstream text;
        text << std::ifstream(directory_ + "/a/b/srs.id").rdbuf();
        return text.str();
    }
    std::string directory_, pid_;
};

TEST_F(ServerIdTest, MadeUpOnceAndKept) {
    ASSERT_TRUE(make_directory_of(pid_).has_value());
    std::string id = decide_server_id("", pid_);
    EXPECT_EQ(id.size(), 11u) << id;
    EXPECT_TRUE(id.starts_with("vid-")) << id;
    EXPECT_EQ(kept(), id + "\n");
    EXPECT_EQ(decide_server_id("", pid_), id);
    EXPECT_EQ(decide_server_id("origin-1", pid_), "origin-1");
    EXPECT_EQ(decide_server_id("", pid_), "origin-1");
    std::filesystem::remove(directory_ + "/a/b/srs.id");
    EXPECT_NE(decide_server_id("", pid_), id);
}

TEST_F(ServerIdTest, WhatIsNoNameIsReplaced) {
    ASSERT_TRUE(make_directory_of(pid_).has_value());
    for (const std::string& bad : {std::string("two words\n"), std::string(200, 'x'), std::string("a\"b\n")}) {
        std::ofstream(directory_ + "/a/b/srs.id") << bad;
        std::string id = decide_server_id("", pid_);
        EXPECT_TRUE(id.starts_with("vid-")) << id;
        EXPECT_EQ(kept(), id + "\n");
    }
}

TEST_F(ServerIdTest, WithoutAPlaceToKeepItThereIsStillOne) {
    EXPECT_TRUE(decide_server_id("", "/no/such/place/srs.pid").starts_with("vid-"));
    EXPECT_EQ(server_id_path("run/srs"), "run/srs.id");
    EXPECT_EQ(server_id_path("srs.pid"), "srs.id");
}

TEST_F(ServerIdTest, DirectoriesThatCannotBeMade) {
    std::ofstream(directory_) << "a file";
    auto made = make_directory_of(pid_);
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().describe().find("making the directory " + directory_ + "/a/b"), std::string::npos)
        << made.error().describe();
    EXPECT_TRUE(make_directory_of("srs.pid").has_value());
}

}  // namespace
}  // namespace server
