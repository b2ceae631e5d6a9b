#include "server/process/resources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/test_util.h"
#include "server/sections_testing.h"

namespace server {
namespace {

class ResourcesTest : public testing::Test {
  protected:
    void SetUp() override {
        directory_ = testing::TempDir() + "resources_test." + std::to_string(getpid());
        std::filesystem::create_directories(directory_);
        std::ofstream(directory_ + "/file") << "no directory";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    // FILE stands for a regular file, DIR for its directory. The problems, one per line.
    std::string problems_of(std::string text, CheckedAt when = CheckedAt::kStart) {
        text = "listen 1;\nsrs_log_tank console;\npid DIR/pid;\nff_log_dir /dev/null;\n" + text;
        for (const auto& [name, value] : {std::pair("FILE", directory_ + "/file"), std::pair("DIR", directory_)})
            for (size_t at; (at = text.find(name)) != text.npos;)
                text.replace(at, std::string_view(name).size(), value);
        const config::Loaded loaded = config::load_text(text);
        EXPECT_TRUE(loaded.snapshot) << config::described(loaded.problems);
        config::Problems problems;
        if (loaded.snapshot) check_resources(*loaded.snapshot, when, problems);
        std::string said = config::described(problems);
        for (size_t at; (at = said.find(directory_)) != said.npos;) said.replace(at, directory_.size(), "DIR");
        return said;
    }
    std::string directory_;
};

TEST_F(ResourcesTest, WhatIsThereIsNoProblem) {
    EXPECT_EQ(
        problems_of("dvr_journal DIR/new/journal; hls_roll DIR/roll;\n"
                    "vhost v { dvr { enabled on; dvr_path DIR/a/[app]/x.flv; } hls { enabled on; hls_path DIR/b; }\n"
                    "exec { enabled on; publish /bin/sh -c x; } }"),
        "");
}

TEST_F(ResourcesTest, CertificatesThatAreMissing) {
    const std::string reason = "no/key.pem";
    for (const auto& [text, block] :
         {std::pair("rtmps { enabled on; listen 2;\nkey no/key.pem; cert no/cert.pem; }", "rtmps"),
          std::pair("http_server { enabled on; https { enabled on;\nkey no/key.pem; cert no/cert.pem; } }",
                    "http_server/https"),
          std::pair("http_api { enabled on; https { enabled on;\nkey no/key.pem; cert no/cert.pem; } }",
                    "http_api/https"),
          std::pair("rtsp_server { enabled on; rtsps { enabled on;\nkey no/key.pem; cert no/cert.pem; } }",
                    "rtsp_server/rtsps")}) {
        for (const CheckedAt when : {CheckedAt::kStart, CheckedAt::kReload}) {
            const std::string said = problems_of(text, when);
            EXPECT_TRUE(said.starts_with(std::string("t.conf:6: error: ") + block + ": ")) << said;
            EXPECT_NE(said.find("no/cert.pem"), said.npos) << said;
        }
    }
}

TEST_F(ResourcesTest, OutputsWhereAFileIs) {
    EXPECT_EQ(problems_of("dvr_journal DIR/j; hls_roll DIR/r;\nvhost v { dvr { enabled on;\ndvr_path FILE/x.flv; } }"),
              "t.conf:7: warning: vhost v dvr_path DIR/file/x.flv: DIR/file is no directory\n");
    EXPECT_EQ(problems_of("dvr_journal DIR/j; hls_roll DIR/r;\nvhost v { hls { enabled on;\nhls_path FILE/hls; } }"),
              "t.conf:7: warning: vhost v hls_path DIR/file/hls/: DIR/file is no directory\n");
    EXPECT_EQ(problems_of("hls_roll DIR/r;\nvhost v { hls { enabled on; hls_path DIR; hls_keys on;\n"
                          "hls_key_file_path FILE/k; } }"),
              "t.conf:7: warning: vhost v hls_key_file_path DIR/file/k/: DIR/file is no directory\n");
    EXPECT_EQ(problems_of("hls_roll DIR/r;\nvhost v { hls { enabled on; hls_storage memory; hls_path FILE/hls; } }"),
              "");
    EXPECT_EQ(problems_of("dvr_journal FILE/j;\nvhost v { dvr { enabled on; dvr_path DIR/x.flv; } }"),
              "t.conf:5: warning: dvr_journal DIR/file/j: DIR/file is no directory\n");
}

// With `user` the start refuses what would write nothing, and a reload does.
TEST_F(ResourcesTest, OutputsAreErrorsWithAUser) {
    const std::string user = "user nobody;\ndvr_journal DIR/j;\nvhost v { dvr { enabled on; dvr_path FILE/x.flv; } }";
    for (const CheckedAt when : {CheckedAt::kStart, CheckedAt::kReload})
        EXPECT_EQ(problems_of(user, when),
                  "t.conf:7: error: vhost v dvr_path DIR/file/x.flv: DIR/file is no directory\n");
}

TEST_F(ResourcesTest, FilesOfTheServer) {
    EXPECT_EQ(problems_of("pid FILE/pid;\nsrs_log_tank file; srs_log_file FILE/log;"),
              "t.conf:5: error: pid DIR/file/pid: DIR/file is no directory\n"
              "t.conf:6: error: srs_log_file DIR/file/log: DIR/file is no directory\n");
    EXPECT_EQ(problems_of("srs_log_tank file; srs_log_file DIR;"),
              "t.conf:5: error: srs_log_file DIR: is a directory\n");
    EXPECT_EQ(problems_of("srs_log_tank file; srs_log_file FILE;"), "");
    EXPECT_EQ(problems_of("pid FILE/pid;", CheckedAt::kReload), "");
}

TEST_F(ResourcesTest, ProgramsThatAreMissing) {
    EXPECT_EQ(problems_of("vhost v { exec { enabled on;\npublish /no/tool [url]; } }"),
              "t.conf:6: warning: exec of vhost v: /no/tool does not exist or is not executable\n");
    EXPECT_EQ(problems_of("vhost v {\ntranscode { enabled on; ffmpeg /no/ffmpeg; engine e { enabled on; output "
                          "rtmp://127.0.0.1/live/b; } } }"),
              "t.conf:6: warning: transcode of vhost v: /no/ffmpeg does not exist or is not executable\n");
    EXPECT_EQ(problems_of("vhost v {\n\ningest i { enabled on; ffmpeg /no/ffmpeg; input { type file; url ./a.flv; } "
                          "engine { enabled on; output rtmp://127.0.0.1/live/b; } } }"),
              "t.conf:7: warning: ingest of vhost v: /no/ffmpeg does not exist or is not executable\n");
    EXPECT_EQ(problems_of("vhost v { exec { enabled off; publish /no/tool; } }"), "");
}

}  // namespace
}  // namespace server
